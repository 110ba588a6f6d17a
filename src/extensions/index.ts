import type { Extension } from '../core/extension.ts';
import anthropic from './anthropic/index.ts';
import browser from './browser/index.ts';
import cron from './cron/index.ts';
import demo from './demo/index.ts';
import exec from './exec/index.ts';
import discord from './discord/index.ts';
import files from './files/index.ts';
import heartbeat from './heartbeat/index.ts';
import mcp from './mcp/index.ts';
import memory from './memory/index.ts';
import monitoring from './monitoring/index.ts';
import ollama from './ollama/index.ts';
import openai from './openai/index.ts';
import presets from './presets/index.ts';
import slack from './slack/index.ts';
import subagents from './subagents/index.ts';
import telegram from './telegram/index.ts';
import terminal from './terminal/index.ts';
import traces from './traces/index.ts';
import voice from './voice/index.ts';
import web from './web/index.ts';
import webhooks from './webhooks/index.ts';

/** Every part of the program that could be absent, in the order in which they are opened. */
export const EXTENSIONS: readonly Extension[] = [
  files,
  exec,
  subagents,
  memory,
  heartbeat,
  cron,
  web,
  mcp,
  browser,
  webhooks,
  terminal,
  telegram,
  discord,
  slack,
  anthropic,
  openai,
  presets,
  ollama,
  demo,
  voice,
  monitoring,
  traces,
].map((one) => ({ ...one, isBuiltIn: true }));

// What operations take and answer, for everyone who reads only the declarations.
export type * from './cron/operation.ts';
export type * from './mcp/operation.ts';
export type * from './traces/operation.ts';

import { audit, inbox, outbox, usage, why } from './activity.ts';
import { chat, completion, gateway, init, prompt, status, store } from './assistant.ts';
import type { Command, Group } from './command.ts';
import { config } from './config.ts';
import { mcp, plugins, skills, tools } from './extensions.ts';
import { service } from './service.ts';
import { approvals, cron, memory, pair, sessions } from './kept.ts';

/** Every command of the terminal, in the order in which `--help` lists them. */
export const COMMANDS: readonly (Command | Group)[] = [
  gateway,
  chat,
  init,
  status,
  config,
  service,
  prompt,
  store,
  tools,
  sessions,
  memory,
  pair,
  cron,
  approvals,
  plugins,
  outbox,
  inbox,
  usage,
  why,
  audit,
  mcp,
  skills,
  completion,
];

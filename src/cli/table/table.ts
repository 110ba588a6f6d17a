import { audit, inbox, outbox, why } from './activity.ts';
import { chat, gateway, init, prompt, status, store } from './assistant.ts';
import type { Command, Group } from './command.ts';
import { mcp, plugins, skills, tools } from './extensions.ts';
import { service } from './service.ts';
import { approvals, cron, memory, pair } from './kept.ts';

/** Every command of the terminal, in the order in which `--help` lists them. */
export const COMMANDS: readonly (Command | Group)[] = [
  gateway,
  chat,
  init,
  status,
  service,
  prompt,
  store,
  tools,
  memory,
  pair,
  cron,
  approvals,
  plugins,
  outbox,
  inbox,
  why,
  audit,
  mcp,
  skills,
];

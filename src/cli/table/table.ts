import { audit, inbox, logs, outbox, trace, undo, usage, why } from './activity.ts';
import { acp, chat, doctor, gateway, init, page, prompt, status, store } from './assistant.ts';
import { command, type CliCommand, type Group } from './command.ts';
import { config } from './config.ts';
import { backup, restore, uninstall, upgrade } from './backup.ts';
import { mcp, plugins, skills, tools } from './extensions.ts';
import { service } from './service.ts';
import { argument } from './values.ts';
import { approvals, cron, memory, pair, sessions } from './data.ts';

const completion = command({
  name: 'completion',
  description: 'print a script with which your shell completes commands and options',
  worksOn: 'any folder',
  arguments: { shell: argument('bash, zsh or fish') },
  load: async () => (await import('../completion.ts')).completionCommand(COMMANDS),
});

/** Every command of the terminal, in the order in which `--help` lists them. */
export const COMMANDS: readonly (CliCommand | Group)[] = [
  gateway,
  chat,
  acp,
  init,
  status,
  page,
  config,
  doctor,
  service,
  prompt,
  store,
  backup,
  restore,
  upgrade,
  uninstall,
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
  logs,
  why,
  trace,
  undo,
  audit,
  mcp,
  skills,
  completion,
];

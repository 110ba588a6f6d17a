import { audit, inbox, logs, outbox, trace, undo, usage, why } from './activity.ts';
import { acp, doctor, gateway, init, page, prompt, status, store } from './assistant.ts';
import { requireOn } from '../../core/cli/home-of.ts';
import type { GroupPart } from '../../core/extension.ts';
import type { Program } from '../../core/program.ts';
import { command, type CliCommand, type Group } from '../../core/cli/command.ts';
import { config } from './config.ts';
import { backup, restore, uninstall, upgrade } from './backup.ts';
import { plugins, skills, tools } from './extensions.ts';
import { service } from './service.ts';
import { argument, type Option } from '../../core/cli/values.ts';
import { setupOptions } from '../../core/setup/platform.ts';
import { approvals, memory, pair, sessions } from './data.ts';

const completion = command({
  name: 'completion',
  description: 'print a script with which your shell completes commands and options',
  worksOn: 'any folder',
  arguments: { shell: argument('bash, zsh or fish') },
  examples: ['completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/assistant.fish'],
  load: async () => (await import('../completion.ts')).completionCommand,
});

/** Those of the core, in the order in which `--help` lists them. */
const core = (setups: Readonly<Record<string, Option<string | undefined>>>): readonly (CliCommand | Group)[] => [
  gateway,
  acp,
  init(setups),
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
  skills,
];

/** Every command of the terminal: those of the core, then those of extensions; what they add to a word that is there stands behind it. */
export function commandsOf({ extensions }: Pick<Program, 'extensions'>): readonly (CliCommand | Group)[] {
  const setups = extensions.flatMap(({ channels = [] }) => channels.map(setupOptions));
  const all: (CliCommand | Group)[] = [...core(Object.assign({}, ...setups))];
  const rows = extensions.flatMap(({ name, cli = [], isBuiltIn }) =>
    cli.map((row) => ({
      row: 'commands' in row ? { ...row, commands: row.commands.map((one) => whileOn(one, name)) } : whileOn(row, name),
      isBuiltIn,
    })),
  );
  for (const { row, isBuiltIn } of rows) {
    const at = all.findIndex(({ name }) => name === row.name);
    const there = all[at];
    if (there === undefined) all.splice(placeOf(row, all), 0, { description: '', ...row });
    else if ('commands' in there && 'commands' in row)
      all[at] = { ...there, commands: [...there.commands, ...row.commands] };
    // What the program has itself stays, and of two packages the first keeps a name.
    else if (isBuiltIn === true) throw new Error(`two commands have the name ${row.name}`);
  }
  return [...all, completion];
}

/** A command that refuses while its extension is switched off. */
function whileOn(row: CliCommand, extension: string): CliCommand {
  return {
    ...row,
    run: async (given, context) => {
      await requireOn(extension, given.flags, context);
      return await row.run(given, context);
    },
  };
}

function placeOf(row: CliCommand | GroupPart, all: readonly (CliCommand | Group)[]): number {
  const at = 'before' in row ? all.findIndex(({ name }) => name === row.before) : -1;
  return at === -1 ? all.length : at;
}

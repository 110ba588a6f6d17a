import { Argument, Help, Option, type Command } from 'commander';
import type { CliContext } from '../../core/cli/context.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import { usageError } from '../../core/cli/usage.ts';
import { exitCodes, flagName, type CliCommand, type Group } from '../../core/cli/command.ts';
import type { Option as TableOption } from '../../core/cli/values.ts';

/** Adds the commands of the table to a program of commander; `done` is told the exit code of the one that is called. */
export function addCommands(
  program: Command,
  table: readonly (CliCommand | Group)[],
  options: {
    readonly context: CliContext;
    readonly done: (code: number) => void;
    /** The words before these commands. @default none */
    readonly path?: readonly string[];
  },
): void {
  const { context, done, path = [] } = options;
  for (const row of table) {
    if ('commands' in row) {
      const group = program.command(row.name).description(row.description);
      addCommands(group, row.commands, { context, done, path: [...path, row.name] });
      continue;
    }
    const command = program.command(row.name, { isDefault: row.isDefault }).description(row.description);
    for (const [name, { description, isRequired, fallback }] of Object.entries(row.arguments)) {
      const argument = new Argument(isRequired ? `<${name}>` : `[${name}]`, description);
      command.addArgument(fallback === undefined ? argument : argument.default(fallback));
    }
    for (const [key, option] of Object.entries(row.options)) command.addOption(commanderOption(key, option));
    const lines = row.examples.length === 0 ? [[...path, row.name].join(' ')] : row.examples;
    const examples = lines.map((line) => `  ${assistantCommand(line)}`);
    const notes = [...(row.after === '' ? [] : [row.after]), exitCodes(row.exits)];
    command.addHelpText('after', () =>
      [`\nExamples:\n${examples.join('\n')}`, ...notes.map((note) => wrapped(note, context))].join('\n\n'),
    );
    command.action(async () => {
      const given = { words: command.processedArgs, flags: command.optsWithGlobals() };
      done(await row.run(given, context).catch((error: unknown) => pointToHelp(error, [...path, row.name])));
    });
  }
}

/** Columns of the terminal for help; those of a wide one are hard to read. */
export function helpWidth({ stdout }: Pick<CliContext, 'stdout'>): number {
  return Math.min(stdout.columns ?? 80, 100);
}

function wrapped(text: string, context: CliContext): string {
  return new Help().boxWrap(text, helpWidth(context));
}

/** Throws an error again; what was wrong with the command line, with where its help is. */
function pointToHelp(error: unknown, path: readonly string[]): never {
  if (!(error instanceof AppError) || error.code !== 'usage' || error.message.includes('--help')) throw error;
  throw usageError(`${error.message} See ${assistantCommand([...path, '--help'].join(' '))}.`);
}

function commanderOption(key: string, { description, short, value, choices, fallback, repeats }: TableOption<unknown>) {
  const flags = `${short === undefined ? '' : `-${short}, `}${flagName(key)}${value === undefined ? '' : ` ${value}`}`;
  const option = new Option(flags, description);
  if (choices !== undefined) option.choices(choices);
  if (fallback !== undefined) option.default(fallback);
  if (repeats === true)
    option.argParser((one: string, before: readonly string[] | undefined) => [...(before ?? []), one]);
  return option;
}

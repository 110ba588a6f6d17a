import { Argument, Option, type Command } from 'commander';
import type { CliContext } from '../context.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { examplesOf } from './examples.ts';
import { flagName, type CliCommand, type Group } from './command.ts';
import type { Option as TableOption } from './values.ts';

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
    const examples = examplesOf([...path, row.name]).map((line) => `  ${assistantCommand(line)}`);
    if (examples.length > 0) command.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
    if (row.after !== '') command.addHelpText('after', `\n${row.after}`);
    command.action(async () => {
      done(await row.run({ words: command.processedArgs, flags: command.optsWithGlobals() }, context));
    });
  }
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

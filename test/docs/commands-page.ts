import type { ChatCommand } from '../../src/core/agent/commands/command.ts';
import { exitCodes, flagName, type CliCommand, type Group } from '../../src/core/cli/command.ts';
import { table } from './generated-part.ts';

const ROLES = { owner: 'owner', trusted: 'trusted', guest: 'everyone' } as const;

/** Every command of the terminal, with what it takes. */
export function terminalCommands(rows: readonly (CliCommand | Group)[]): string {
  return rows.map((row) => ('commands' in row ? groupSection(row) : section(row))).join('\n\n');
}

/** Every slash command. */
export function chatCommands(commands: readonly ChatCommand[]): string {
  const rows = commands.map(({ name, description, role, priority }) => [
    `\`/${name}\``,
    description,
    ROLES[role],
    priority ? 'yes' : '',
  ]);
  return table(['command', 'what it does', 'for', 'also while it works'], rows);
}

function groupSection({ name, description, commands }: Group): string {
  return [`### assistant ${name}`, capital(description), ...commands.map((command) => usage(command, name))].join(
    '\n\n',
  );
}

function section(command: CliCommand): string {
  return [`### assistant ${command.name}`, usage(command)].join('\n\n');
}

function usage(command: CliCommand, group?: string): string {
  const names = [...(group === undefined ? [] : [group]), command.name];
  const taken = Object.entries(command.arguments).map(([name, { isRequired }]) =>
    isRequired ? `<${name}>` : `[${name}]`,
  );
  const hasJson = command.options['json']?.description === 'as JSON';
  const short = group !== undefined && command.isDefault ? ` \`assistant ${group}\` alone does the same.` : '';
  const items = [
    ...Object.entries(command.arguments).map(([name, { description, fallback }]) => ({ name, description, fallback })),
    ...Object.entries(command.options)
      .filter(([key]) => key !== 'json' || !hasJson)
      .map(([key, { short: letter, value, description, fallback, choices }]) => ({
        name: `${letter === undefined ? '' : `-${letter}, `}${flagName(key)}${value === undefined ? '' : ` ${value}`}`,
        description: choices === undefined ? description : `${description}; one of ${choices.join(', ')}`,
        fallback,
      })),
  ];
  const line = ['assistant', ...names, ...taken, ...(hasJson ? ['[--json]'] : [])].join(' ');
  return [
    `\`${line}\`: ${command.description}.${short}`,
    ...(items.length === 0
      ? []
      : [items.map((item) => `- \`${item.name}\`: ${withDefault(item.description, item.fallback)}`).join('\n')]),
    ...(command.after === '' ? [] : [command.after]),
    ...(Object.keys(command.exits).length === 0 ? [] : [exitCodes(command.exits)]),
  ].join('\n\n');
}

function withDefault(description: string, fallback: string | undefined): string {
  return fallback === undefined || description.includes('(default')
    ? description
    : `${description} (default: ${fallback})`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

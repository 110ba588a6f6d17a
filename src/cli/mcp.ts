import type { McpServerInfo, McpServerReport } from '../gateway/requests.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { oneLine, plural } from '../util/text.ts';
import { confirm } from './confirm.ts';
import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { indented, json, escapeInvisible } from './format.ts';

type Flags = Readonly<Record<string, unknown>>;

const LONGEST_LINE = 100;

// The commands say themselves what does not work: an assistant that is started for one of them writes no log.

/** `assistant mcp [list]`. */
export async function mcpListCommand(flags: Flags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'), { log: 'silent' });
  const servers = await assistant.port.request('mcpList', {});
  const lines = servers.flatMap((server) => [
    `${server.name}  ${stateOf(server)}`,
    `  ${oneLine(server.runs, LONGEST_LINE)}`,
    ...warningOf(server),
  ]);
  print(context, flags, servers, lines.length === 0 ? ['There are no MCP servers in the configuration.'] : lines);
  return 0;
}

/** `assistant mcp test NAME`: exit code 0 when it works. */
export async function mcpTestCommand(
  flags: Flags,
  context: CliContext,
  [name = '']: readonly string[],
): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'), { log: 'silent' });
  const report = await assistant.port.request('mcpTest', { name });
  print(context, flags, report, [`${report.name} works: ${report.is}`, ...offerLines(report), ...warningOf(report)]);
  return 0;
}

/** `assistant mcp trust NAME`: shows what is new, asks, and takes exactly that. */
export async function mcpTrustCommand(
  flags: Flags,
  context: CliContext,
  [name = '']: readonly string[],
): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'), { log: 'silent' });
  const report = await assistant.port.request('mcpTest', { name });
  const changes = changeLines(report);
  if (changes.length === 0) {
    print(context, flags, { trusted: true, added: [], changed: [], removed: [] }, [
      `${name} offers what you agreed to: ${plural(report.tools.length, 'tool')}.`,
    ]);
    return 0;
  }
  if (flags['json'] !== true) context.stdout.write(`${escapeInvisible(changes.join('\n'))}\n`);
  if (!(await confirm(context, 'Use them like this?', { yes: flags['yes'] === true }))) {
    context.stdout.write('Nothing was changed.\n');
    return 1;
  }
  const difference = await assistant.port.request('mcpTrust', { name, hash: report.hash });
  print(context, flags, { trusted: true, ...difference }, [`${name} is used with what it offers now.`]);
  return 0;
}

function stateOf({ state, pinned, offered }: McpServerInfo): string {
  if (state === 'off') return 'off';
  const tools = pinned === null ? 'no contact yet' : plural(offered.length, 'tool');
  const since = pinned === null ? '' : `, agreed ${new Date(pinned.at).toISOString().slice(0, 10)}`;
  return `${state}, ${tools}${since}`;
}

function warningOf({ name, trouble, difference }: McpServerInfo): readonly string[] {
  if (trouble !== null) return [`  ⚠ it does not work: ${trouble}`];
  const { added = [], changed = [], removed = [] } = difference ?? {};
  if (added.length + changed.length + removed.length === 0) return [];
  const parts = [
    ...(added.length === 0 ? [] : [`new: ${added.join(', ')}`]),
    ...(changed.length === 0 ? [] : [`changed: ${changed.join(', ')}`]),
    ...(removed.length === 0 ? [] : [`gone: ${removed.join(', ')}`]),
  ];
  return [
    `  ⚠ ${parts.join('; ')}. New and changed ones are off until you run: ${assistantCommand(`mcp trust ${name}`)}`,
  ];
}

function offerLines({ tools, resources, prompts }: McpServerReport): readonly string[] {
  return [
    ...tools.map(({ name, description, state }) => {
      const mark =
        state === 'agreed' ? '' : state === 'unusable' ? ' [left out: no model takes its schema]' : ` [${state}: off]`;
      return `  ${name}${mark}  ${oneLine(description, LONGEST_LINE)}`;
    }),
    ...(resources ? ['  (has resources)'] : []),
    ...(prompts ? ['  (has prompts)'] : []),
  ];
}

/** What a yes would cover, with every word that a model would then read. */
function changeLines({ tools, difference }: McpServerReport): readonly string[] {
  const { added = [], removed = [] } = difference ?? {};
  return [
    ...tools
      .filter(({ state }) => state === 'added' || state === 'changed')
      .flatMap(({ name, description, parameters, state }) => [
        `${state === 'added' ? 'new' : 'changed'}: ${name}`,
        indented(`${description}\n${JSON.stringify(parameters, null, 1)}`, '  │ '),
      ]),
    ...added.filter((name) => name.startsWith('(')).map((name) => `new: ${name}`),
    ...removed.map((name) => `gone: ${name}`),
  ];
}

function print(context: CliContext, flags: Flags, facts: unknown, lines: readonly string[]): void {
  const text = flags['json'] === true ? json(facts) : escapeInvisible(lines.join('\n'));
  context.stdout.write(`${text}\n`);
}

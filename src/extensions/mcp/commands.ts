import { assistantCommand, oneLine, plural, type AnswerOf } from '../../core/api.ts';
import {
  confirm,
  escapeInvisible,
  indented,
  openAssistant,
  print,
  type CliContext,
  type OutputFlags,
} from '../../core/api-cli.ts';
import type { mcpList, mcpTest } from './operation.ts';

type ServerFacts = AnswerOf<typeof mcpList>[number];
type ServerReport = AnswerOf<typeof mcpTest>;

const LONGEST_LINE = 100;

/** `assistant mcp [list]`. */
export function mcpLines(servers: readonly ServerFacts[]): readonly string[] {
  return servers.flatMap((server) => [
    `${server.name}  ${stateOf(server)}`,
    `  ${oneLine(server.runs, LONGEST_LINE)}`,
    ...warningOf(server),
  ]);
}

/** `assistant mcp test NAME`. */
export function testLines(report: ServerReport): readonly string[] {
  return [`${report.name} works: ${report.is}`, ...offerLines(report), ...warningOf(report)];
}

/** `assistant mcp trust NAME`: shows what is new, asks, and takes exactly that. */
export async function mcpTrustCommand(
  { name, yes, home, json }: OutputFlags & { readonly name: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home, { log: 'silent' });
  const report = await assistant.port.call('mcpTest', { name });
  const changes = changeLines(report);
  if (changes.length === 0) {
    const lines = [`${name} offers exactly the tools that you approved: ${plural(report.tools.length, 'tool')}.`];
    print(context, json, { facts: { trusted: true, added: [], changed: [], removed: [] }, lines });
    return 0;
  }
  if (!json) context.stdout.write(`${escapeInvisible(changes.join('\n'))}\n`);
  if (!(await confirm(context, 'Use them like this?', { yes }))) {
    context.stdout.write('Nothing was changed.\n');
    return 1;
  }
  const difference = await assistant.port.call('mcpTrust', { name, hash: report.hash });
  const lines = [`${name} may be used with the tools that it offers now.`];
  print(context, json, { facts: { trusted: true, ...difference }, lines });
  return 0;
}

function stateOf({ state, pinned, offered }: ServerFacts): string {
  if (state === 'off') return 'off';
  const tools = pinned === null ? 'no contact yet' : plural(offered.length, 'tool');
  const since = pinned === null ? '' : `, agreed ${new Date(pinned.at).toISOString().slice(0, 10)}`;
  return `${state}, ${tools}${since}`;
}

function warningOf({ name, trouble, difference }: ServerFacts): readonly string[] {
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

function offerLines({ tools, resources, prompts }: ServerReport): readonly string[] {
  return [
    ...tools.map(({ name, description, state }) => {
      const mark =
        state === 'agreed'
          ? ''
          : state === 'unusable'
            ? ' [left out: models cannot use its schema]'
            : ` [${state}: off]`;
      return `  ${name}${mark}  ${oneLine(description, LONGEST_LINE)}`;
    }),
    ...(resources ? ['  (has resources)'] : []),
    ...(prompts ? ['  (has prompts)'] : []),
  ];
}

/** What a yes would cover, with every word that a model would then read. */
function changeLines({ tools, difference, readOnly }: ServerReport): readonly string[] {
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
    ...readOnly,
  ];
}

import type { RequestParams } from '../../core/gateway/operations/operations.ts';
import { localMinute } from '../../core/util/time-zone.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { indented } from '../../core/util/text.ts';
import { openAssistant, zoneOf } from '../open.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

const FILES = { memory: 'MEMORY.md', history: 'HISTORY.md' } as const;

/** Prints what a search finds, in one conversation, in the memory or everywhere. */
export async function printFound(
  flags: OutputFlags & {
    readonly text: string;
    readonly last: number;
    readonly where: Pick<RequestParams<'sessionsSearch'>, 'session'>;
  },
  context: CliContext,
): Promise<number> {
  const { text, last, where, home, json } = flags;
  await using assistant = await openAssistant(context, home);
  const hits = await assistant.port.call('sessionsSearch', { text, count: last, ...where });
  const zone = await zoneOf(context, home);
  const lines = hits.map(({ source, session, at, role, snippet }) => {
    const when = at === null ? '' : `${localMinute(at, zone)}  `;
    const from = source === 'session' ? `${session ?? ''}${role === null ? '' : `, ${speaker(role)}`}` : FILES[source];
    return `${when}${from}\n${indented(snippet, '    ')}`;
  });
  if (hits.some(({ ofAnyTime }) => ofAnyTime))
    lines.unshift('Nothing with these words is of that time; these are of any time.');
  print(context, json, { facts: hits, lines, nothing: 'Nothing was found.' });
  return 0;
}

/** Who said something, to the owner. */
export function speaker(kind: 'user' | 'assistant'): string {
  return kind === 'user' ? 'you' : 'assistant';
}

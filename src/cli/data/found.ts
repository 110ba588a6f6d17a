import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import type { Showing } from '../../core/cli/asking.ts';
import { indented } from '../../core/util/text.ts';

const FILES = { memory: 'MEMORY.md', history: 'HISTORY.md' } as const;

/** What a search found, in one conversation, in the memory or everywhere. */
export function foundLines(
  hits: RequestResult<'sessionsSearch'>,
  { minute }: Pick<Showing<unknown>, 'minute'>,
): readonly string[] {
  const lines = hits.map(({ source, session, at, role, snippet }) => {
    const when = at === null ? '' : `${minute(at)}  `;
    const from = source === 'session' ? `${session ?? ''}${role === null ? '' : `, ${speaker(role)}`}` : FILES[source];
    return `${when}${from}\n${indented(snippet, '    ')}`;
  });
  const isOfAnyTime = hits.some(({ ofAnyTime }) => ofAnyTime);
  return [...(isOfAnyTime ? ['Nothing with these words is of that time; these are of any time.'] : []), ...lines];
}

/** Who said something, to the owner. */
export function speaker(kind: 'user' | 'assistant'): string {
  return kind === 'user' ? 'you' : 'assistant';
}

/** The key of a session that a person names: `main` of `chat --session main` is `terminal:main`. */
export function sessionKey(name: string): string {
  return name.includes(':') ? name : `terminal:${name}`;
}

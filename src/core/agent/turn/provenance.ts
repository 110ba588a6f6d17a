import type { Role } from '../../bus/messages.ts';
import { asRole, atLeast } from '../../security/access/access.ts';
import type { SaidText } from '../../security/access/url-origin.ts';
import type { AssistantEntry } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';

/** True if one of these authors has a role below `role`, so that their text is untrusted for it. */
export function hasWeakerAuthors(authors: Iterable<string>, role: Role): boolean {
  return Array.from(authors).some((author) => !atLeast(asRole(author), role));
}

/**
 * The texts of a session that may name addresses for a turn of this role, and what the model said between them, oldest first.
 * Only two kinds name addresses: people's own words, and pages and searches that were fetched here. Everything else may hold
 * what a model wrote: files, the output of commands, memory, quotes, forwarded messages, the program's notes, summaries.
 */
export function saidTexts(session: Pick<Session, 'window' | 'history'>, role: Role = 'guest'): readonly SaidText[] {
  const weaker = new Set(
    session.window.flatMap((entry) =>
      entry.kind === 'turn-start' && hasWeakerAuthors([entry.role], role) ? [entry.turn] : [],
    ),
  );
  const messages = new Map(session.window.flatMap((entry) => (entry.kind === 'message' ? [[entry.id, entry]] : [])));
  return session.history().messages.flatMap(({ entryId }): readonly SaidText[] => {
    const entry = messages.get(entryId);
    if (entry === undefined) return [];
    if (entry.role === 'assistant') return wordsOf(entry).map((text) => ({ author: 'model', text }));
    const person = weaker.has(entry.turn) ? 'outside' : 'person';
    if (entry.role === 'tool') {
      const author = entry.author === 'person' ? person : entry.author;
      return author === undefined ? [] : [{ author, text: bodyOf(entry.output) }];
    }
    const own = entry.own === undefined ? undefined : entry.content[entry.own];
    return own?.type === 'text' ? [{ author: person, text: own.text }] : [];
  });
}

/** What the model wrote: its texts, and the strings in its calls. */
function wordsOf({ content }: AssistantEntry): readonly string[] {
  return content.flatMap((part) => {
    if (part.type === 'reasoning') return [];
    return part.type === 'text' ? [part.text] : stringsIn(part.arguments);
  });
}

/** The output of a result without its header, which repeats the arguments. */
function bodyOf(output: string): string {
  const end = output.indexOf('\n');
  return end === -1 ? '' : output.slice(end + 1);
}

/** All strings in the arguments of a call, at any depth; arguments that are not JSON are one string. */
function stringsIn(json: string): readonly string[] {
  try {
    return strings(JSON.parse(json));
  } catch {
    return [json];
  }
}

function strings(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : [];
}

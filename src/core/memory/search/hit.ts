import type { MemoryHit } from './retriever.ts';
import { fold, type Term } from './words.ts';
import { cut, cutStart } from '../../util/text.ts';

/** Length of a snippet, in characters. */
const SNIPPET = 240;

/** A document as the index has it. */
export interface Row {
  readonly id: number;
  readonly source: string;
  readonly session: string | null;
  readonly turn: string | null;
  readonly at: number | null;
  readonly role: string | null;
  readonly untrusted: number;
  readonly text: string;
}

/** The columns of a `Row`, of a table `d`. */
export const COLUMNS = 'd.id, d.source, d.session, d.turn, d.at, d.role, d.untrusted, d.text';

/** What a text was found by: a term, and the words that count as it. */
interface FoundBy {
  readonly term: Term;
  readonly words: readonly string[];
}

export function rowOf(row: Record<string, unknown>): Row {
  const text = (name: string): string | null => (typeof row[name] === 'string' ? row[name] : null);
  return {
    id: Number(row['id']),
    source: text('source') ?? '',
    session: text('session'),
    turn: text('turn'),
    at: row['at'] === null ? null : Number(row['at']),
    role: text('role'),
    untrusted: Number(row['untrusted']),
    text: text('text') ?? '',
  };
}

/** `wanted`: the snippet is around the first of them, else the beginning of the text. */
export function hitOf(row: Row, score: number, wanted: readonly FoundBy[]): MemoryHit {
  return {
    source: row.source === 'memory' || row.source === 'history' ? row.source : 'session',
    ...(row.session === null ? {} : { session: row.session }),
    ...(row.turn === null ? {} : { turn: row.turn }),
    ...(row.at === null ? {} : { at: row.at }),
    ...(row.role === 'user' || row.role === 'assistant' ? { role: row.role } : {}),
    untrusted: row.untrusted === 1,
    ...(row.untrusted === 2 ? { belowOwner: true } : {}),
    snippet: snippetOf(row.text, wanted),
    score,
  };
}

/** One line of at most 240 characters around the first match. */
function snippetOf(text: string, wanted: readonly FoundBy[]): string {
  const flat = text.replace(/\s+/gu, ' ').trim();
  if (flat.length <= SNIPPET) return flat;
  const match = firstOf(flat, wanted);
  const at = Math.max(0, match - SNIPPET / 3);
  // Not every script has spaces between its words.
  const space = flat.indexOf(' ', at);
  const start = at === 0 ? 0 : space !== -1 && space < match ? space + 1 : at;
  const shown = cut(cutStart(flat, flat.length - start), SNIPPET);
  return `${start > 0 ? '…' : ''}${shown}${start + SNIPPET < flat.length ? '…' : ''}`;
}

function firstOf(text: string, wanted: readonly FoundBy[]): number {
  const words = wanted.flatMap(({ term, words: variants }) =>
    variants.map((word) => (term.kind === 'singles' ? word.replaceAll(' ', '') : (word.split(' ')[0] ?? word))),
  );
  for (const match of text.matchAll(/[\p{L}\p{N}\p{M}]+|\p{So}/gu)) {
    const folded = fold(match[0]);
    if (words.some((word) => folded.startsWith(word) || match[0].includes(word))) return match.index;
  }
  return 0;
}

/** Characters that make no words with their neighbours: each is found by itself. */
const SINGLE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{So}]/gu;
const WORD = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;

/** Lower case without diacritics, as the index compares. */
export function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

/** The words of a text, folded, without single characters. */
export function wordsOf(text: string): readonly string[] {
  return fold(text.replace(SINGLE, ' ')).match(WORD) ?? [];
}

/** The single characters of a text with spaces between them, so that each is a word of its own. */
export function singlesOf(text: string): string {
  return (text.normalize('NFC').match(SINGLE) ?? []).join(' ');
}

/** One thing that is searched for. */
export interface Term {
  /** `word`; several words in a row; a run of single characters. */
  readonly kind: 'word' | 'phrase' | 'singles';
  /** Folded; a phrase's words and a run's characters with one space between them. */
  readonly text: string;
}

const MOST_TERMS = 16;
const LONGEST_QUERY = 1_000;

/** What a query asks for: phrases in quotes, words, runs of single characters. Nothing in it is an operator. */
export function termsOf(query: string): readonly Term[] {
  const terms: Term[] = [];
  const rest = query.slice(0, LONGEST_QUERY).replace(/["“”„«»]([^"“”„«»]+)["“”„«»]/gu, (_, quoted: string) => {
    const words = wordsOf(quoted);
    if (words.length === 1) terms.push({ kind: 'word', text: words[0] ?? '' });
    if (words.length > 1) terms.push({ kind: 'phrase', text: words.join(' ') });
    terms.push(...runsOf(quoted));
    return ' ';
  });
  terms.push(...wordsOf(rest).map((text) => ({ kind: 'word' as const, text })), ...runsOf(rest));
  const seen = new Set<string>();
  return terms.filter(({ text }) => !seen.has(text) && seen.add(text)).slice(0, MOST_TERMS);
}

function runsOf(text: string): Term[] {
  const runs = text.normalize('NFC').match(new RegExp(`(?:${SINGLE.source})+`, 'gu')) ?? [];
  return runs.map((run) => ({ kind: 'singles', text: singlesOf(run) }));
}

/** Every three letters in a row of a word. */
export function trigramsOf(word: string): readonly string[] {
  return [...new Set(Array.from({ length: Math.max(0, word.length - 2) }, (_, at) => word.slice(at, at + 3)))];
}

/** How much alike two words are by their trigrams: 0 to 1 (Dice). */
export function similarity(a: string, b: string): number {
  const [first, second] = [trigramsOf(`^${a}$`), new Set(trigramsOf(`^${b}$`))];
  let common = 0;
  for (const gram of first) if (second.has(gram)) common += 1;
  return (2 * common) / (first.length + second.size);
}

/** As a string of the query language, in which nothing means anything. */
export function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

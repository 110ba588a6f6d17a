import { CONTEXTS } from './contexts.ts';
import { formsOf } from './encodings.ts';
import { keyBlocks } from './key-blocks.ts';
import { isPlaceholder, isPlaceholderValue } from './placeholders.ts';
import type { Shape } from './shape.ts';
import { LOOSE_TOKENS, TOKENS } from './tokens.ts';
import { unwrapText } from './unwrapped.ts';

/** Three characters of six bits and a bit. */
const MASK = (1 << 18) - 1;

/** So many characters make the key of a start. */
const KEY_LENGTH = 3;

/** Finds in one pass where one of many texts may begin: by its first three characters, upper case as lower case. */
class StartIndex<Entry> {
  readonly #isUsed = new Uint8Array((MASK + 1) / 8);
  readonly #entries = new Map<number, Entry[]>();

  /** `start` has at least three characters. Entries of the same place come in the order in which they were added. */
  add(start: string, entry: Entry): void {
    let key = 0;
    for (let i = 0; i < KEY_LENGTH; i += 1) key = next(key, start.charCodeAt(i));
    const there = this.#entries.get(key) ?? [];
    if (!there.includes(entry)) this.#entries.set(key, [...there, entry]);
    this.#isUsed[key >> 3] = (this.#isUsed[key >> 3] ?? 0) | (1 << (key & 7));
  }

  /** Visits each place from `from` on where something may begin; other things may begin there too. */
  visit(text: string, from: number, visit: (at: number, entries: readonly Entry[]) => void): void {
    const isUsed = this.#isUsed;
    const first = from + KEY_LENGTH - 1;
    let key = 0;
    for (let i = from; i < text.length; i += 1) {
      key = next(key, text.charCodeAt(i));
      if (((isUsed[key >> 3] ?? 0) & (1 << (key & 7))) !== 0 && i >= first)
        visit(i - KEY_LENGTH + 1, this.#entries.get(key) ?? []);
    }
  }
}

/** A secret in a text. */
export interface Found {
  readonly start: number;
  readonly end: number;
  /** What it is; undefined for one that was configured. */
  readonly name: string | undefined;
}

/** What may begin at a place: a form of a configured secret as it is, or a shape. */
type Candidate = string | Shape;

/**
 * How a secret is known. `value`: it was configured; `shape`: it also may look like a token; `place`: also by what
 * stands before it.
 */
export type KnownBy = 'value' | 'shape' | 'place';

interface FindOptions {
  /** The text still grows. */
  readonly partial: boolean;
  readonly knownBy: KnownBy;
}

export interface Finder {
  /** Everything that is found; places may overlap, what counts more comes first. */
  readonly find: (text: string, options: FindOptions) => readonly Found[];
  readonly candidates: StartIndex<Candidate>;
  /** Forms that may be broken into lines. */
  readonly coded: StartIndex<string>;
  /** Length of the longest form. */
  readonly longest: number;
}

export function createFinder(secrets: readonly string[]): Finder {
  const forms = formsOf(secrets);
  const candidates = new StartIndex<Candidate>();
  for (const form of forms.all) candidates.add(form, form);
  for (const shape of [...TOKENS, ...CONTEXTS]) for (const start of shape.starts) candidates.add(start, shape);
  const coded = new StartIndex<string>();
  for (const form of forms.coded) coded.add(form, form);
  return {
    candidates,
    coded,
    longest: Math.max(0, ...forms.all.map(({ length }) => length)),
    find: (text, { partial, knownBy }) => {
      const known: Found[] = [];
      const shaped: Found[] = [];
      const named: Found[] = [];
      candidates.visit(text, 0, (at, entries) => {
        for (const entry of entries) {
          if (typeof entry === 'string') {
            if (text.startsWith(entry, at)) known.push({ start: at, end: at + entry.length, name: undefined });
            continue;
          }
          if (knownBy === 'value' || (entry.keepsHead && knownBy === 'shape')) continue;
          const found = entry.keepsHead ? named : shaped;
          // Within a match of its kind nothing new begins: what it took is taken.
          if ((found.at(-1)?.end ?? 0) > at) continue;
          found.push(...matchesAt(text, at, entry));
        }
      });
      const broken = forms.coded.length > 0 ? wrapped(text, coded) : [];
      if (knownBy === 'value') return [...known, ...broken];
      const blocks = keyBlocks(text, partial).map((block) => ({ ...block, name: 'private key' }));
      return [...known, ...broken, ...blocks, ...shaped, ...loose(text), ...named];
    },
  };
}

/** What a shell reads as more than a part of a word: a value ends before it, so that no command is hidden behind one. */
const SHELL_SYNTAX = /[;|&$()`<>\n]/u;

function matchesAt(text: string, at: number, shape: Shape): readonly Found[] {
  const { name, whole, keepsHead, pairs } = shape;
  whole.lastIndex = at;
  const match = whole.exec(text);
  const body = match?.groups?.['body'];
  if (match === null || body === undefined) return [];
  if (!keepsHead) return isPlaceholder(body) ? [] : [{ start: at, end: at + match[0].length, name }];
  const found: Found[] = [];
  let start = at + match[0].length - body.length;
  for (const piece of pairs ? body.split(/(?<=;)/u) : [body]) {
    const space = piece.length - piece.trimStart().length;
    const cut = piece.search(SHELL_SYNTAX);
    const value = piece.slice(space, cut === -1 ? piece.length : cut);
    if (value !== '' && !isPlaceholderValue(value)) {
      found.push({ start: start + space, end: start + space + value.length, name });
    }
    // Behind anything but the end of a pair it is no cookie any more.
    if (cut !== -1 && piece.slice(cut) !== ';') break;
    start += piece.length;
  }
  return found;
}

function loose(text: string): readonly Found[] {
  return LOOSE_TOKENS.flatMap(({ name, needs, pattern }) =>
    text.includes(needs)
      ? [...text.matchAll(pattern)].map(({ 0: token, index, groups }) => ({
          start: index - (groups?.['before']?.length ?? 0),
          end: index + token.length,
          name,
        }))
      : [],
  );
}

/** Forms that are broken into lines. */
function wrapped(text: string, coded: StartIndex<string>): readonly Found[] {
  const lines = unwrapText(text);
  if (lines === undefined) return [];
  const found: Found[] = [];
  coded.visit(lines.text, 0, (at, forms) => {
    const form = forms.find((each) => lines.text.startsWith(each, at));
    if (form === undefined) return;
    found.push({ start: lines.origin(at), end: lines.origin(at + form.length - 1) + 1, name: undefined });
  });
  return found;
}

/** Holds nothing of what was more than three characters ago. */
function next(key: number, code: number): number {
  return ((key << 6) ^ (code | 0x20)) & MASK;
}

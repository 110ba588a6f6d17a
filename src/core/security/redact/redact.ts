import { createFinder, type Found, type KnownBy } from './find.ts';
import { cutSecrets, heldFrom } from './partial.ts';

interface RedactOptions {
  /** The text still grows: what may be the beginning of a secret at its end is held back. @default false */
  readonly partial?: boolean;
  /**
   * `shape`: only what is a secret wherever it stands, for text that is to be carried out, where a made-up password has
   * its place. `value`: only what was configured, for text that shows a person what will be carried out: whatever looks
   * like a secret may be a command. @default 'place'
   */
  readonly knownBy?: KnownBy;
}

/** Takes secrets out of a text. */
export type Redact = (text: string, options?: RedactOptions) => string;

/**
 * Returns a function that takes the given secrets out of a text: as they are and as URLs, forms, JSON, HTML, base64 and
 * hex write them, together with tokens that are known by their shape or by what stands before them. Secrets under 8
 * characters are left alone. What a cut has left of a secret before a `…` goes too. `[redacted]` stands for a given secret, `[redacted: github token]` for a token. What it
 * returns it leaves alone, and JSON stays JSON.
 */
export function createRedactor(secrets: readonly string[]): Redact {
  const finder = createFinder(secrets);
  return (text, { partial = false, knownBy = 'place' } = {}) => {
    const found = [...finder.find(text, { partial, knownBy }), ...cutSecrets(text, finder, knownBy)];
    if (!partial) return found.length === 0 ? text : without(text, merged(found), text.length);
    return without(text, merged(found), heldFrom(text, found, finder));
  };
}

/** A redactor that can be told of more secrets; what it knew it keeps. */
export function createLearningRedactor(secrets: readonly string[]): {
  readonly redact: Redact;
  readonly learn: (more: readonly string[]) => void;
} {
  const known = new Set(secrets);
  let current = createRedactor(secrets);
  return {
    redact: (text, options) => current(text, options),
    learn: (more) => {
      const size = known.size;
      for (const secret of more) known.add(secret);
      if (known.size > size) current = createRedactor([...known]);
    },
  };
}

/** In order and without overlaps: what overlaps is one place, named after what comes first in the given order. */
function merged(found: readonly Found[]): readonly Found[] {
  const order = new Map(found.map((each, rank) => [each, rank]));
  const rank = (each: Found): number => order.get(each) ?? 0;
  const places: Found[] = [];
  let best = 0;
  for (const each of found.toSorted((a, b) => a.start - b.start || rank(a) - rank(b))) {
    const last = places.at(-1);
    if (last === undefined || each.start >= last.end) {
      places.push(each);
      best = rank(each);
      continue;
    }
    const isBetter = rank(each) < best;
    best = Math.min(best, rank(each));
    places[places.length - 1] = {
      start: last.start,
      end: Math.max(last.end, each.end),
      name: isBetter ? each.name : last.name,
    };
  }
  return places;
}

/** The text up to `end` with a mark for each place; a place that goes beyond the end is whole. */
function without(text: string, places: readonly Found[], end: number): string {
  let clean = '';
  let at = 0;
  for (const { start, end: after, name } of places) {
    if (start >= end) break;
    clean += text.slice(at, start) + (name === undefined ? '[redacted]' : `[redacted: ${name}]`);
    at = after;
  }
  return at >= end ? clean : clean + text.slice(at, end);
}

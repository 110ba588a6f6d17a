/** Zero width, fillers, soft hyphens, direction controls, tags, and variation selectors that no font knows. */
const HIDDEN =
  /[\u00AD\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]/gu;

/** Joiners in emoji and behind letters of Arabic and Indic scripts, variants of Han characters, flags of regions. */
const RIGHTFUL =
  /(?<=[\p{Extended_Pictographic}\u{1F3FB}-\u{1F3FF}]|\uFE0F)\u200D(?=\p{Extended_Pictographic})|(?<=[\u0600-\u0DFF])[\u200C\u200D]|(?<=\p{Script=Han})[\u{E0100}-\u{E01EF}]|\u{1F3F4}[\u{E0030}-\u{E007A}]{4,6}\u{E007F}/gu;

/** What a map says, by squashed key (`user-invocable`, `userInvocable` and `user_invocable` are one). */
export type Fields = ReadonlyMap<string, unknown>;

/** `User-Invocable` → `userinvocable`. */
export function squash(key: string): string {
  return key.toLowerCase().replace(/[\s_-]+/gu, '');
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A map's own entries; where two keys are one when squashed, the one in lower case wins. Empty for anything else. */
export function fieldsOf(value: unknown): Fields {
  const fields = new Map<string, unknown>();
  if (!isRecord(value)) return fields;
  const entries = Object.entries(value);
  const lower = entries.filter(([key]) => key === key.toLowerCase());
  const others = entries.filter(([key]) => key !== key.toLowerCase());
  for (const [key, item] of [...others, ...lower]) fields.set(squash(key), item);
  return fields;
}

/** One line of text from a string, number or boolean; undefined where there is none. */
export function asText(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return undefined;
  const folded = value.replace(/\s+/gu, ' ').trim();
  return folded === '' ? undefined : folded;
}

/** Words from a string (split at commas and white space), a list of strings, or a list of maps with a `name`. */
export function asWords(value: unknown): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const words = items.flatMap((item) => {
    const text = asText(isRecord(item) ? fieldsOf(item).get('name') : item);
    return text === undefined ? [] : text.split(/[\s,]+/u).filter((word) => word !== '');
  });
  return [...new Set(words)];
}

/** How many characters of a text cannot be seen but are read by a model. A byte order mark at its start is none. */
export function countInvisible(text: string): number {
  return (
    text
      .replace(/^\uFEFF/u, '')
      .replace(RIGHTFUL, '')
      .match(HIDDEN)?.length ?? 0
  );
}

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

/** `true`, "true", "yes", "on", 1 and their opposites; undefined for anything else. */
export function asFlag(value: unknown): boolean | undefined {
  const text = asText(value)?.toLowerCase();
  if (text === undefined) return undefined;
  if (['true', 'yes', 'on', '1'].includes(text)) return true;
  if (['false', 'no', 'off', '0'].includes(text)) return false;
  return undefined;
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

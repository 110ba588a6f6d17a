import { deflateRawSync, inflateRawSync } from 'node:zlib';

/**
 * A call that somebody else's text asks for. `{{LAST}}` in its texts stands for the last result, URL-encoded; `{{PIN}}`,
 * `{{PIN:hex}}` and the like for what USER.md says.
 */
export interface InjectedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Instead of a call: the words of the answer. */
export interface InjectedWords {
  readonly say: string;
}

export type Injected = InjectedCall | InjectedWords;

/** Longest part of a text in one file name. */
const NAME_PART = 180;

/** Text that makes a gullible model do all of this, in order; packed, because some ways are short. */
export function injection(wanted: readonly Injected[]): string {
  return wanted.map((one) => `CALL:${deflateRawSync(JSON.stringify(one)).toString('base64url')}:END`).join(' ');
}

/** The same text cut over file names, which sort in its order. */
export function injectedNames(text: string): readonly string[] {
  const whole = Buffer.from(text).toString('base64url');
  const names: string[] = [];
  for (let at = 0; at < whole.length; at += NAME_PART) {
    names.push(`CALL-${String(names.length).padStart(3, '0')}-${whole.slice(at, at + NAME_PART)}.txt`);
  }
  return names;
}

/** The text that file names hold together; empty where there are none. */
export function readNames(text: string): string {
  const parts = new Map<string, string>();
  for (const [, number = '', part = ''] of text.matchAll(/CALL-(\d{3})-([\w-]+)\.txt/gu)) parts.set(number, part);
  const sorted = [...parts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(sorted.map(([, part]) => part).join(''), 'base64url').toString('utf8');
}

/** Each token of `injection` in a text, with what it means; what cannot be read is left out. */
export function readInjection(text: string): readonly { readonly token: string; readonly wanted: Injected }[] {
  return [...text.matchAll(/CALL:([\w-]+):END/gu)].flatMap(([token, encoded = '']) => {
    const wanted = parse(encoded);
    return wanted === undefined ? [] : [{ token, wanted }];
  });
}

function parse(encoded: string): Injected | undefined {
  try {
    const value: unknown = JSON.parse(inflateRawSync(Buffer.from(encoded, 'base64url')).toString('utf8'));
    if (typeof value !== 'object' || value === null) return undefined;
    if ('say' in value && typeof value.say === 'string') return { say: value.say };
    if (!('name' in value) || typeof value.name !== 'string') return undefined;
    const given = 'arguments' in value ? value.arguments : undefined;
    return { name: value.name, arguments: typeof given === 'object' && given !== null ? { ...given } : {} };
  } catch {
    return undefined;
  }
}

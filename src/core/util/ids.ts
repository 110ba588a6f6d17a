import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Makes ULIDs (26 characters, https://github.com/ulid/spec). */
export type IdFactory = () => string;

/** A factory that can be told of ids of earlier processes. */
export interface Ids extends IdFactory {
  /** Every further id is greater than this one; text that is no ULID is ignored. */
  after(id: string): void;
}

/** Strictly increasing ids, also when the clock is put back: their order is that in which they were made. */
export function createIds(clock: Clock, random: Random): Ids {
  let lastTime = 0;
  let lastRandom: number[] = [];
  const next = (): string => {
    const now = clock.now();
    if (now > lastTime) {
      lastTime = now;
      lastRandom = Array.from(random.bytes(16), (byte) => byte & 31);
    } else {
      increment(lastRandom);
    }
    return encodeTime(lastTime) + lastRandom.map((digit) => ALPHABET[digit]).join('');
  };
  const after = (id: string): void => {
    const time = timeOfId(id);
    if (time === undefined || time < lastTime) return;
    const digits = Array.from(id.slice(10, 26), (digit) => ALPHABET.indexOf(digit));
    if (time === lastTime && lastRandom.map((digit) => ALPHABET[digit]).join('') >= id.slice(10, 26)) return;
    lastTime = time;
    lastRandom = digits;
  };
  return Object.assign(next, { after });
}

function increment(digits: number[]): void {
  for (let i = digits.length - 1; i >= 0; i -= 1) {
    const digit = (digits[i] ?? 0) + 1;
    digits[i] = digit & 31;
    if (digit < 32) return;
  }
}

function encodeTime(time: number): string {
  let text = '';
  for (let rest = time, i = 0; i < 10; i += 1, rest = Math.floor(rest / 32)) text = (ALPHABET[rest % 32] ?? '0') + text;
  return text;
}

/** When the ULID that a text begins with was made, milliseconds since 1970; undefined: it begins with none. */
export function timeOfId(text: string): number | undefined {
  if (!/^[0-7][0-9A-HJKMNP-TV-Z]{25}/u.test(text)) return undefined;
  let time = 0;
  for (const digit of text.slice(0, 10)) time = time * 32 + ALPHABET.indexOf(digit);
  return time;
}

import type { Random } from '../util/random.ts';

/** Signs that look unlike each other; 32, so that each byte gives each the same chance. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 8;

/** By which people and buttons name a question; nobody can guess it. */
export function questionCode(random: Random): string {
  return Array.from(random.bytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

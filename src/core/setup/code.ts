import { systemRandom } from '../util/random.ts';

/** How long the person may take to send the code. */
export const CODE_MS = 600_000;
/** 32 letters and digits that no one mixes up. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const CODE_LENGTH = 8;

/** A code that a person sends from their account on the platform, which proves that the account is theirs. */
export function newCode(): string {
  return [...systemRandom.bytes(CODE_LENGTH)].map((byte) => LETTERS[byte % LETTERS.length]).join('');
}

/** Whether a message is this code, in any case, alone or as Telegram's link sends it. */
export function isCode(text: string | undefined, code: string): boolean {
  return (
    (text ?? '')
      .replace(/^\/start\s+/u, '')
      .trim()
      .toUpperCase() === code
  );
}

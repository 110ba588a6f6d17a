import { encodingsOf } from '../files/file-text.ts';
import { LineScanner, type LinePage, type PageWish } from './line-page.ts';

export interface LargeText extends LinePage {
  /** How it is encoded; null: it is binary. */
  readonly encoding: string | null;
}

/**
 * A page of a text that comes in pieces, which may be asked for more than once: as much memory as a piece and a page take,
 * however long the text or its lines are.
 */
export function largeText(pieces: () => Iterable<Uint8Array>, size: number, wish: PageWish): LargeText {
  for (const encoding of encodingsOf(firstOf(pieces()), size)) {
    try {
      const decoder = new TextDecoder(encoding, { fatal: encoding === 'utf-8' });
      const scanner = new LineScanner(wish);
      for (const piece of pieces()) scanner.push(decoder.decode(piece, { stream: true }));
      scanner.push(decoder.decode());
      return { ...scanner.end(), encoding };
    } catch (error) {
      // It is not UTF-8 after all.
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return { text: '', lines: 0, next: null, encoding: null };
}

function firstOf(pieces: Iterable<Uint8Array>): Buffer {
  for (const piece of pieces) return Buffer.from(piece);
  return Buffer.alloc(0);
}

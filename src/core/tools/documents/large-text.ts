import { encodingsOf } from '../../files/text.ts';
import { LineScanner, type LinePage, type PageWish } from './line-page.ts';

export interface LargeText extends LinePage {
  /** Name of the encoding, as `TextDecoder` takes it; null: the file is binary. */
  readonly encoding: string | null;
}

/**
 * Reads one page of a text of `size` bytes that is given in pieces; `pieces` is called again for each encoding that is tried.
 * Needs only the memory of one piece and one page, even if the text or its lines are long.
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
      // The text is not valid UTF-8: try the next encoding.
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return { text: '', lines: 0, next: null, encoding: null };
}

function firstOf(pieces: Iterable<Uint8Array>): Buffer {
  for (const piece of pieces) return Buffer.from(piece);
  return Buffer.alloc(0);
}

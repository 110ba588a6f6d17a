let segmenter: Intl.Segmenter | undefined;

/** The graphemes of a text, one by one. What finds them takes 9 ms to make: it is made for the first text. */
export function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** Zero width, fillers, soft hyphens, direction controls, tags, and variation selectors that no font knows. */
const HIDDEN =
  /[\u00AD\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]/gu;
/** Joiners in emoji and behind letters of Arabic and Indic scripts, variants of Han characters, flags of regions. */
const RIGHTFUL =
  /(?<=[\p{Extended_Pictographic}\u{1F3FB}-\u{1F3FF}]|\uFE0F)\u200D(?=\p{Extended_Pictographic})|(?<=[\u0600-\u0DFF])[\u200C\u200D]|(?<=\p{Script=Han})[\u{E0100}-\u{E01EF}]|\u{1F3F4}[\u{E0030}-\u{E007A}]{4,6}\u{E007F}/gu;

/** How many characters of a text cannot be seen but are read by a model. A byte order mark at its start is none. */
export function countInvisible(text: string): number {
  return (
    text
      .replace(/^\uFEFF/u, '')
      .replace(RIGHTFUL, '')
      .match(HIDDEN)?.length ?? 0
  );
}

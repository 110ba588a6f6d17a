/** What Unicode says may be left out of sight: zero width, fillers, direction controls, tags, variation selectors. */
const HIDDEN = String.raw`[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB\u0080-\u009F]`;
/** Joiners in emoji and behind letters of Arabic and Indic scripts, emoji selectors, the flags of the three nations. */
const RIGHTFUL = [
  String.raw`(?<=\p{Extended_Pictographic}\uFE0F?|[\u{1F3FB}-\u{1F3FF}])\u200D(?=\p{Extended_Pictographic})`,
  String.raw`(?<=(?!\p{Default_Ignorable_Code_Point})[\u0600-\u0DFF])[\u200C\u200D]`,
  String.raw`(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]|(?<=[0-9#*])\uFE0F(?=\u20E3)`,
  String.raw`(?<=\u{1F3F4})(?:\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073}))\u{E007F}`,
].join('|');
const INVISIBLE = new RegExp(`(?<rightful>${RIGHTFUL})|${HIDDEN}`, 'gu');

const LINE_ENDS = /\r\n|[\r\u0085\u2028\u2029]/gu;
/** All but tab and newline. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F]/gu;
const PICTURES = 0x2400;
const PICTURE_OF_DELETE = '␡';

/**
 * A text of which everything can be seen: what is invisible is left out and counted, control characters are shown as
 * their pictures, every kind of line end is `\n`. Never longer; done twice it changes nothing more.
 */
export function withoutInvisible(text: string): { readonly text: string; readonly removed: number } {
  let removed = 0;
  const shown = text
    .toWellFormed()
    .replace(LINE_ENDS, '\n')
    .replace(CONTROLS, (control) => {
      const code = control.charCodeAt(0);
      return code === 0x7f ? PICTURE_OF_DELETE : String.fromCharCode(PICTURES + code);
    })
    .replace(INVISIBLE, (match, rightful: string | undefined) => {
      if (rightful !== undefined) return match;
      removed += 1;
      return '';
    });
  return { text: shown, removed };
}

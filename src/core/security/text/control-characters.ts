/** What shows nothing, or hides what stands beside it: controls, direction marks, fillers, tags, piled up accents. */
const HIDDEN =
  /(?!\n)[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Me}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800]|(?! )\p{Zs}|(?<=\p{Mn}{3})\p{Mn}/gu;
/** More in a row push what stands behind them out of sight. */
const EMPTY_LINES = /(?<=^|\n)(?:[ \t]*\n){4,}/gu;
const BLANKS = / {41,}|\t{9,}/gu;

/**
 * A text with everything that cannot be seen spelled out, so that a person knows what they agree to; lines stay, and
 * long runs of empty lines, spaces and tabs are counted. Done twice it changes nothing more.
 */
export function escapeControlChars(text: string): string {
  return text
    .replace(EMPTY_LINES, (run) => `⟨${run.split('\n').length - 1} empty lines⟩\n`)
    .replace(BLANKS, (run) => `⟨${run.length} ${run.startsWith(' ') ? 'spaces' : 'tabs'}⟩`)
    .replace(HIDDEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

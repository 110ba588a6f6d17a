/** What breaks up mentions and shows nothing itself. */
const BREAK = /\u200b/gu;

/** What is to be seen, line by line; how much white space there is, and blank lines, aside. */
export function visibleLines(text: string): readonly string[] {
  return text
    .replace(BREAK, '')
    .split('\n')
    .map((line) => line.replace(/\s+/gu, ' ').trim())
    .filter((line) => line !== '');
}

/** What is to be seen without all white space and what has no shape. */
export function inkOf(text: string): string {
  return text.replace(/[\s\p{Cf}]+/gu, '');
}

/** Whether each character of `few` is in `many`, in this order. */
export function isSubsequence(few: string, many: string): boolean {
  let at = 0;
  for (const character of many) {
    if (few.startsWith(character, at)) at += character.length;
  }
  return at === few.length;
}

/** Text for a terminal: what a model or a stranger wrote must not move the cursor, recolour or write the clipboard. */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu, '');
}

/** The same with everything that can not be seen spelled out, so that a person knows what they agree to. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}|\p{Variation_Selector}/gu, (character) => {
    if (character === '\n') return character;
    if (character === '\t') return '\\t';
    if (character === '\r') return '\\r';
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** Prefixes each line. */
export function indented(text: string, prefix: string): string {
  return text
    .split('\n')
    .map((line) => prefix + line)
    .join('\n');
}

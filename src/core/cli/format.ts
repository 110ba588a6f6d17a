/** Joiners in emoji and behind letters of Arabic and Indic scripts, emoji selectors. */
const RIGHTFUL = String.raw`(?<=\p{Extended_Pictographic}\uFE0F?|[\u{1F3FB}-\u{1F3FF}])\u200D(?=\p{Extended_Pictographic})|(?<=[\u0600-\u0DFF])[\u200C\u200D]|(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]|(?<=[0-9#*])\uFE0F(?=\u20E3)`;
const UNSEEN = String.raw`[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFF9-\uFFFB]`;
const UNSEEN_OR_RIGHTFUL = new RegExp(`(?<rightful>${RIGHTFUL})|${UNSEEN}`, 'gu');
const UNSEEN_IN_JSON = new RegExp(String.raw`${UNSEEN}|[\u007F-\u009F]`, 'gu');

/**
 * Text for a terminal: what a model or a stranger wrote must not move the cursor, recolour, write the clipboard or turn
 * the order of a line around. Controls are left out; what no one would see is spelled out (`\u{202e}`).
 */
export function terminalText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu, '')
    .replace(UNSEEN_OR_RIGHTFUL, (found, rightful: string | undefined) => rightful ?? spelledOut(found));
}

/** The same with everything that cannot be seen spelled out, so that a person knows what they agree to. */
export function escapeInvisible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu,
    (character) => {
      if (character === '\n') return character;
      if (character === '\t') return '\\t';
      if (character === '\r') return '\\r';
      return spelledOut(character);
    },
  );
}

/** Facts as JSON, with everything that a terminal could act on or a person not see as escapes: it means the same. */
export function json(facts: unknown, indent = 2): string {
  return JSON.stringify(facts, null, indent).replace(UNSEEN_IN_JSON, (found) =>
    found.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** `0.3 s`, `12 s`, `2 min 5 s`. */
export function seconds(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const whole = Math.round(ms / 1_000);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function spelledOut(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A fenced block of Markdown with its content. */
const FENCED = /^[ \t]*(?<fence>`{3,}|~{3,})[^\n]*\n(?<content>[^]*?)\n[ \t]*\k<fence>[ \t]*$/mu;

/** The JSON in an answer: the whole text, a fenced block, or the part from the first bracket to the last; else the text itself. */
export function bareJson(answer: string): string {
  const text = answer.trim();
  const fenced = FENCED.exec(text)?.groups?.['content']?.trim();
  const from = text.search(/[[{]/u);
  const inside = text.slice(Math.max(0, from), Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1);
  return [text, fenced, inside].find((part) => part !== undefined && isJson(part)) ?? fenced ?? text;
}

/** Whether a text is one JSON value. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

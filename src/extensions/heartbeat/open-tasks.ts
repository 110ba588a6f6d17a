/** Bytes of open tasks that a model is shown, so that looking at them stays cheap. */
const MOST_BYTES = 2_800;

const CHECKED = /^(?:[-*+]|\d+[.)])?\s*\[[x✓✔]\]/iu;
/** A list mark or an empty box with nothing behind it, a heading, a rule, the fence of a block. */
const NOTHING = /^(?:(?:[-*+]|\d+[.)])?\s*(?:\[\s?\])?|#{1,6}(?:\s.*)?|(?:[-*_]\s*){3,}|`{3,}.*|~{3,}.*)$/u;

/**
 * What is left to do in a HEARTBEAT.md: its text without comments, headings, checked boxes (and what is indented under
 * them) and empty lines. Empty when nothing is open. Pure.
 */
export function openTasks(markdown: string): string {
  const lines: string[] = [];
  let doneAt: number | null = null;
  for (const line of withoutComments(markdown).split(/\r?\n/u)) {
    const text = line.trim();
    const indent = line.length - line.trimStart().length;
    if (doneAt !== null && text !== '' && indent <= doneAt) doneAt = null;
    if (CHECKED.test(text)) doneAt ??= indent;
    else if (doneAt === null && !NOTHING.test(text)) lines.push(line.trimEnd());
  }
  return lines.join('\n');
}

/** As much of the tasks as a cheap look may hold, whole lines where that is possible. */
export function shownTasks(tasks: string): string {
  if (Buffer.byteLength(tasks) <= MOST_BYTES) return tasks;
  const start = Buffer.from(tasks).subarray(0, MOST_BYTES).toString('utf8').replace(/�+$/u, '');
  const lastLine = start.lastIndexOf('\n');
  const shown = lastLine > MOST_BYTES / 4 ? start.slice(0, lastLine) : start;
  return `${shown}\n[This is only the beginning of HEARTBEAT.md.]`;
}

/** A comment that is never closed hides the rest, as it does on a page. */
function withoutComments(markdown: string): string {
  return markdown.replaceAll(/<!--[\s\S]*?(?:-->|$)/gu, '');
}

import { escapeControlChars } from '../security/text/control-characters.ts';
import { diffLines, type LineChange } from '../util/line-diff.ts';

/** Every line of a change, for the person who is asked about it. */
export function previewOf(before: string, after: string): string {
  const changes = linesOf(before, after);
  if (changes.length === 0) return 'no line changes';
  const lines: string[] = [];
  for (let at = 0; at < changes.length;) {
    const { sign = '' } = changes[at] ?? {};
    let end = at + 1;
    while (changes[end]?.sign === sign) end += 1;
    const run = changes.slice(at, end);
    // As one text, in which a run of empty lines is seen.
    const text = escapeControlChars(run.map(({ line }) => `${line}\n`).join('')).replace(/\n$/u, '');
    lines.push(...text.split('\n').map((line) => `${sign} ${line}`));
    at += run.length;
  }
  return lines.join('\n');
}

/** Nothing is no line. */
function linesOf(before: string, after: string): readonly LineChange[] {
  const gone = before === '' ? '−' : after === '' ? '+' : null;
  return diffLines(before, after).filter(({ sign }) => sign !== gone);
}

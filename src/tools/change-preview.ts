import type { PathGuard } from '../security/paths.ts';
import { visible } from '../security/visible.ts';
import { diffLines, type LineChange } from '../util/line-diff.ts';
import { cut, plural } from '../util/text.ts';
import { readWhole } from './file-access.ts';
import { decodeText } from './file-text.ts';
import type { ToolContext } from './tool.ts';

const MOST_LINES = 30;
const LONGEST_LINE = 200;

/** The lines that a person is shown of a change; the rest is counted. The whole change is bound by their answer's hash. */
export function previewOf(before: string, after: string): string {
  const changes = linesOf(before, after);
  if (changes.length === 0) return 'no line changes';
  const shown = changes.slice(0, MOST_LINES).map(({ sign, line }) => {
    const whole = visible(line);
    return `${sign} ${whole.length > LONGEST_LINE ? `${cut(whole, LONGEST_LINE)}… (${line.length} characters)` : whole}`;
  });
  const more = changes.length - shown.length;
  return [...shown, ...(more > 0 ? [`… and ${plural(more, 'more line')}`] : [])].join('\n');
}

/** What replacing a file with `after` changes. A file that may not be read as freely stays unseen: its lines are not shown. */
export async function replacement(
  guard: PathGuard,
  { path, after }: { readonly path: string; readonly after: string },
  context: ToolContext,
): Promise<string> {
  return previewOf(await freeText(guard, path, context), after);
}

/** Nothing is no line. */
function linesOf(before: string, after: string): readonly LineChange[] {
  const gone = before === '' ? '−' : after === '' ? '+' : null;
  return diffLines(before, after).filter(({ sign }) => sign !== gone);
}

async function freeText(guard: PathGuard, path: string, context: ToolContext): Promise<string> {
  try {
    if ((await guard.check(path, 'read', context)).decision !== 'allow') return '';
    const decoded = decodeText((await readWhole(guard, path, context)).bytes);
    return 'binary' in decoded ? '' : decoded.text;
  } catch {
    return '';
  }
}

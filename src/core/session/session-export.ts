import { indented, cut } from '../util/text.ts';
import { localMinute } from '../util/time-zone.ts';
import { readSession, type SessionEvent } from './session-log.ts';

/** Characters of a tool's result in an export for people. */
const LONGEST_RESULT = 2_000;

/** A whole conversation as Markdown to read or as JSON with everything. `timezone`: as in `localTime`. Throws `session-unknown` if there is none. */
export async function exportSession(
  folder: string,
  {
    session,
    format,
    timezone,
  }: { readonly session: string; readonly format: 'md' | 'json'; readonly timezone: string | null },
): Promise<string> {
  const events = await readSession(folder, session);
  if (format === 'json') return `${JSON.stringify({ session, events }, null, 2)}\n`;
  return `${[`# ${session}`, ...events.map((event) => longText(event, timezone))].join('\n\n')}\n`;
}

function longText(event: SessionEvent, timezone: string | null): string {
  const { kind, name = '', text } = event;
  const time = localMinute(Date.parse(event.at), timezone);
  const back = event.isTakenBack === true ? ' (taken back)' : '';
  switch (kind) {
    case 'call':
      return `> Called \`${name}\`:\n>\n${indented(fenced(text), '> ')}`;
    case 'result':
      return `> ${event.isError === true ? 'It failed' : 'It returned'}:\n>\n${indented(fenced(cutLong(text)), '> ')}`;
    case 'mark':
      return `---\n\n*${time}* ${text}`;
    default:
      return `## ${time} ${kind === 'user' ? 'you' : 'assistant'}${back}\n\n${text}`;
  }
}

/** In a fence that no line of the text closes. */
function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/gu), ([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function cutLong(text: string): string {
  if (text.length <= LONGEST_RESULT) return text;
  return `${cut(text, LONGEST_RESULT)}\n… ${text.length - LONGEST_RESULT} more characters`;
}

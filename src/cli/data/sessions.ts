import type { SessionEvent } from '../../app.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { indented, oneLine, plural, sizeText } from '../../core/util/text.ts';
import { localMinute } from '../../core/util/time-zone.ts';
import { confirm } from '../../core/cli/confirm.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { sessionKey, speaker } from './found.ts';
import { escapeInvisible, terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import { openProgress } from '../../core/cli/progress.ts';
import { openAssistant, pathsOf, zoneOf } from '../../core/cli/open.ts';
import type { HomeFlag, OutputFlags } from '../../core/cli/command.ts';

/** Characters of a tool's arguments and results that `show` prints of each. */
const LONGEST_CALL = 100;

/** `assistant sessions [list]`. */
export async function sessionsListCommand(
  { last, home, json }: OutputFlags & { readonly last: number },
  context: CliContext,
): Promise<number> {
  const { listSessions } = await context.app();
  const all = await listSessions(pathsOf(context, home).sessions);
  const shown = all.slice(0, last);
  const zone = await zoneOf(context, home);
  const widest = Math.max(0, ...shown.map(({ key }) => key.length));
  const lines = shown.map(
    ({ key, changedAt, size }) =>
      `${localMinute(changedAt, zone)}  ${key.padEnd(widest)}  ${sizeText(size).padStart(8)}`,
  );
  if (all.length > shown.length) lines.push(`… and ${all.length - shown.length} more; see --last.`);
  const facts = shown.map(({ key, changedAt, size }) => ({ session: key, changedAt, size }));
  print(context, json, { facts, lines, nothing: 'There are no conversations yet.' });
  return 0;
}

/** `assistant sessions show SESSION`. */
export async function sessionsShowCommand(
  { session, last, home, json }: OutputFlags & { readonly session: string; readonly last: number },
  context: CliContext,
): Promise<number> {
  const { readSession } = await context.app();
  const events = await readSession(pathsOf(context, home).sessions, sessionKey(session), { last });
  const zone = await zoneOf(context, home);
  const lines = events.map((event) => shortText(event, zone));
  print(context, json, { facts: events, lines, nothing: 'Nothing was said in it yet.', escape: terminalText });
  return 0;
}

/** `assistant sessions export SESSION`: the whole conversation on standard output, as Markdown or JSON. */
export async function sessionsExportCommand(
  { session, format, home }: HomeFlag & { readonly session: string; readonly format: 'md' | 'json' },
  context: CliContext,
): Promise<number> {
  const { exportSession } = await context.app();
  using progress = openProgress(context);
  progress.show('The conversation is read');
  const text = await exportSession(pathsOf(context, home).sessions, {
    session: sessionKey(session),
    format,
    timezone: await zoneOf(context, home),
  });
  progress.hide();
  if (format === 'json') print(context, true, { facts: JSON.parse(text), lines: [] });
  else context.stdout.write(terminalText(text));
  return 0;
}

/** `assistant sessions delete SESSION`. */
export async function sessionsDeleteCommand(
  { session: name, yes, home, json }: OutputFlags & { readonly session: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  const session = sessionKey(name);
  const { readSession } = await context.app();
  const events = await readSession(pathsOf(context, home).sessions, session);
  const said = events.filter(({ kind }) => kind === 'user' || kind === 'assistant').length;
  const question = `Delete ${escapeInvisible(session)} with ${plural(said, 'message')}? This cannot be undone.`;
  if (!(await confirm(context, question, { yes }))) return 1;
  await using assistant = await openAssistant(context, home);
  await assistant.port.call('sessionsDelete', { session });
  const lines = [
    `${session} is deleted. What MEMORY.md and HISTORY.md hold of it stays: ${assistantCommand('memory')} shows it.`,
  ];
  print(context, json, { facts: { deleted: session }, lines });
  return 0;
}

function shortText(event: SessionEvent, zone: string | null): string {
  const { kind, name = '', text } = event;
  const time = localMinute(Date.parse(event.at), zone);
  const back = event.isTakenBack === true ? ' (taken back)' : '';
  switch (kind) {
    case 'call':
      return `    ${name} ${oneLine(text, LONGEST_CALL)}`;
    case 'result':
      return `    ${event.isError === true ? '✗' : '✓'} ${name}: ${oneLine(text, LONGEST_CALL)}`;
    case 'mark':
      return `— ${time} ${oneLine(text, 5 * LONGEST_CALL)}`;
    default:
      return `${time} ${speaker(kind)}${back}\n${indented(text, '  ')}\n`;
  }
}

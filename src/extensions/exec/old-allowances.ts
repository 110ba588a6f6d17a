import { basename } from 'node:path';
import { sha256 } from '../../core/api-tools.ts';
import { outboundTo } from '../../core/api-turns.ts';
import { type App, oneLine, plural } from '../../core/api.ts';
import { readSubject } from './always-allow.ts';

const MOST_NAMED = 10;
const LONGEST_NAME = 120;

/**
 * Forgets commands that were allowed for good when more could be than now, and tells the owner once. Told first: after a
 * crash between the two it is the same message.
 */
export async function dropOldAllowances({ clock, log, journal, bus }: App): Promise<void> {
  const old = journal.allowances
    .list()
    .filter(({ program: [file = '', ...args] }) => readSubject(basename(file), args) === null);
  if (old.length === 0) return;
  const named = old
    .slice(0, MOST_NAMED)
    .map(({ program }) => `- \`${oneLine(program.join(' '), LONGEST_NAME).replaceAll('`', "'")}\``);
  const more = old.length > named.length ? [`- and ${old.length - named.length} more`] : [];
  const text = [
    `${plural(old.length, 'command')} that you had allowed for good ${old.length === 1 ? 'asks' : 'ask'} again, because what runs may be decided by files that others can change. Only commands that do nothing but read and print can be allowed for good.`,
    ...named,
    ...more,
  ].join('\n');
  log.warn('approvals: commands that were allowed for good ask again', { commands: old.length });
  const chat = journal.questions.ownersChat();
  if (chat !== undefined) {
    const id = `allowances:${sha256(Buffer.from(old.map((one) => one.id).join(' '))).slice(0, 16)}`;
    await bus.publishOutbound(outboundTo(chat, { id, kind: 'notice', text }, clock.now()));
  }
  for (const { id } of old) await journal.allowances.forget(id);
}

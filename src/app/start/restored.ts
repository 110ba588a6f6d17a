import { closeUnseen } from '../../agent/recovery/give-up.ts';
import { outboundTo } from '../../agent/outgoing.ts';
import { markRestored, readRestored, type Restoration } from '../../backup/restored.ts';
import type { Journal } from '../../journal/journal.ts';
import type { EndedByRestore } from '../../journal/restored.ts';
import { machineZone, localText } from '../../util/time-zone.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { plural } from '../../util/text.ts';
import type { Agent } from '../agent.ts';
import type { Base } from '../base.ts';

/**
 * The first start of a restored home: ends what was open at the time of the backup, because the program may have gone on
 * with it, and tells the owner once. Every step may be repeated after a crash. Does nothing in any other home.
 */
export async function endWhatRestoreLeft(
  { paths, clock, log, config }: Pick<Base, 'paths' | 'clock' | 'log' | 'config'>,
  { agent, journal }: { readonly agent: Pick<Agent, 'ports'>; readonly journal: Journal },
): Promise<void> {
  const restoration = await readRestored(paths.home);
  if (restoration === undefined || restoration.hasEnded) return;
  const open = journal.turns.open();
  const questions = journal.questions.countWaiting();
  for (const { id, session, messages } of open) {
    await closeUnseen({ id, sessionKey: session, messages }, TURN_END, agent.ports);
  }
  const zone = config.agent.timezone ?? machineZone();
  const chat = journal.questions.ownersChat();
  const ended = await journal.endWaiting({
    id: `restored:${restoration.at}`,
    notice: (waited) => {
      const text = noticeText({ ...waited, turns: open.length, questions }, restoration, zone);
      return chat === undefined ? null : outboundTo(chat, { id: '', kind: 'notice', text }, clock.now());
    },
  });
  await markRestored(paths.home, { ...restoration, hasEnded: true });
  log.warn('restore: what was open at the time of the backup is ended', { turns: open.length, questions, ...ended });
}

/** The last words of a turn in its conversation, read by the model. */
const TURN_END =
  '[This was not finished when the backup was made from which the assistant was restored. Whether it was done later is unknown.]';

function noticeText(
  ended: EndedByRestore & { readonly turns: number; readonly questions: number },
  { backupAt }: Restoration,
  zone: string,
): string {
  const when = backupAt === 0 ? 'a backup' : `the backup of ${localText(backupAt, zone)}`;
  const parts = [
    ended.turns > 0 ? plural(ended.turns, 'unfinished task') : '',
    ended.messages > 0 ? plural(ended.messages, 'waiting message') : '',
    ended.replies > 0 ? plural(ended.replies, 'unsent reply', 'unsent replies') : '',
    ended.questions > 0 ? plural(ended.questions, 'open question') : '',
  ].filter((part) => part !== '');
  const open =
    parts.length === 0
      ? 'Nothing was open then.'
      : `What was open then has ended, because it may have been done since: ${parts.join(', ')}. Ask again for what you still need; \`${assistantCommand('inbox')}\` lists the messages.`;
  return `I was restored from ${when} and know nothing of what happened after it. ${open}`;
}

import { closeUnseen } from '../agent/recovery/give-up.ts';
import { outboundTo } from '../agent/outgoing.ts';
import { markRestored, readRestored, type Restoration } from '../../backup/restored.ts';
import type { InboundMessage, Role } from '../bus/messages.ts';
import type { EndedByRestore } from '../journal/restored.ts';
import { asRole } from '../security/access/access.ts';
import { isByPeople, saidIn, type TapeEntry } from '../session/entry.ts';
import { errorMessage } from '../util/errors.ts';
import { machineZone, localText } from '../util/time-zone.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { plural } from '../util/text.ts';
import type { Config } from '../config/schema.ts';
import type { App } from '../app.ts';

/**
 * The first start of a restored home: ends what was open at the time of the backup, because the program may have gone on
 * with it, and tells the owner once. Every step may be repeated after a crash. Does nothing in any other home.
 */
export async function endWhatRestoreLeft(app: App): Promise<void> {
  const { paths, clock, log, config, plugins, journal } = app;
  const restoration = await readRestored(paths.home);
  if (restoration === undefined || restoration.hasEnded) return;
  const known = journal.turns.open().map(({ id, session, messages }) => ({ id, sessionKey: session, messages }));
  const questions = journal.questions.countWaiting();
  const open = [...known, ...(await adoptYoungerTurns(known, app))];
  for (const turn of open) await closeUnseen(turn, TURN_END, app);
  // What was due may have run until the restore, and what is due after it runs as usual.
  const until = restoration.at === 0 ? clock.now() : Math.min(restoration.at, clock.now());
  const doubted = await Promise.all(plugins.each('restored').map(([, restored]) => restored(until)));
  const says = doubted.map((one) => one.says).filter((text) => text !== '');
  const chat = journal.questions.ownersChat();
  const ended = await journal.endWaiting({
    id: `restored:${restoration.at}`,
    notice: (waited) => {
      const text = noticeText({ ...waited, turns: open.length, questions, says }, restoration, config);
      return chat === undefined ? null : outboundTo(chat, { id: '', kind: 'notice', text }, clock.now());
    },
  });
  for (const { end } of doubted) await end();
  await markRestored(paths.home, { ...restoration, hasEnded: true });
  log.warn('restore: what was open at the time of the backup is ended', {
    turns: open.length,
    questions,
    ...ended,
  });
}

/**
 * Open turns that only their tapes know, because the backup copied the journal before them. A model that read such a tape
 * would take its last question for the next thing to do, and run a command again. Their messages are put into the journal
 * where its newest message of the session shows who wrote them. A tape that can't be read is left to its next use.
 */
async function adoptYoungerTurns(
  known: readonly OpenTurn[],
  { journal, sessions, newId, log }: App,
): Promise<readonly OpenTurn[]> {
  const ids = new Set(known.map(({ id }) => id));
  const found: OpenTurn[] = [];
  for (const { key } of await sessions.list()) {
    try {
      const session = await sessions.open(key);
      const start = session.newestStart();
      if (start === undefined || start.turn === null || ids.has(start.turn)) continue;
      const entries = session.turn(start.turn);
      if (entries.some((entry) => entry.kind === 'turn-end')) continue;
      newId.after(start.turn);
      const turn = { id: start.turn, session: key, role: asRole(start.role) };
      const before = journal.turns.last(key)?.messages.at(-1);
      const written =
        before?.chatType === 'direct' && isByPeople(start.origin) ? asked(entries, before, turn.role) : [];
      await journal.turns.adopt({ ...turn, sources: sourcesOf(entries) }, written);
      found.push({ id: turn.id, sessionKey: key, messages: journal.turns.messages(turn.id) });
    } catch (error) {
      log.error('restore: session file cannot be read', { session: key, reason: errorMessage(error) });
    }
  }
  return found;
}

type OpenTurn = Parameters<typeof closeUnseen>[0];

function sourcesOf(entries: readonly TapeEntry[]): readonly string[] {
  return entries.flatMap((entry) => (entry.kind === 'message' && entry.role === 'user' ? entry.sources : []));
}

/** What the people of a turn wrote, as its tape has it, from the chat of an earlier message. */
function asked(entries: readonly TapeEntry[], before: InboundMessage, role: Role): readonly InboundMessage[] {
  return entries.flatMap((entry) => {
    const [id] = sourcesOf([entry]);
    if (id === undefined) return [];
    const { channel, account, chatId, threadId, chatType, sender, mentioned, sessionKey, origin } = before;
    const chat = { channel, account, chatId, chatType, sender, mentioned, sessionKey, origin };
    return [
      {
        ...chat,
        ...(threadId === undefined ? {} : { threadId }),
        id,
        externalId: `restored:${id}`,
        role,
        text: saidIn(entry),
        media: [],
        context: [],
        receivedAt: entry.at,
        untrusted: entry.untrusted === true,
        metadata: {},
      },
    ];
  });
}

/** The last words of a turn in its conversation, read by the model. */
const TURN_END =
  '[This was not finished when the backup was made from which the assistant was restored. Whether it was done later is unknown.]';

function noticeText(
  ended: EndedByRestore & { readonly turns: number; readonly questions: number; readonly says: readonly string[] },
  { backupAt }: Restoration,
  { agent }: Config,
): string {
  const zone = agent.timezone ?? machineZone();
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
  const more = ended.says.map((text) => ` ${text}`).join('');
  return `I was restored from ${when} and know nothing of what happened after it. ${open}${more}`;
}

import type { App } from '../../app.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import type { OpenTurn } from '../../journal/turns.ts';
import { asRole } from '../../security/access/access.ts';
import type { TapeEntry } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';
import { backoffMs } from '../../util/backoff.ts';
import { sleep } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { oneLine } from '../../util/text.ts';
import { noUsage } from '../../util/token-usage.ts';
import { retryWords } from '../commands/retry.ts';
import type { FoundCommand } from '../commands/table.ts';
import { closePlainly, giveUpTurn } from './give-up.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { reportUnreadable, UNREADABLE } from './unreadable.ts';
import { adoptSteeredMessages, type ClaimedTurn } from '../turn/runner.ts';
import { turnEndEntry } from '../turn/end.ts';

/** A turn is given up after this many attempts that ended with the death of the process and brought it no further. */
const MOST_ATTEMPTS = 3;
/** The same for a turn that ended on its tape and is not closed: then it is closed without hooks (`closePlainly`). */
const MOST_CLOSES = 2;
/** Attempts of `closePlainly`; after that the answer is given up. */
const MOST_PLAIN_CLOSES = 2;
/** Attempts of one turn in all, even if each brought it further. */
const MOST_RESUMED = 10;
/** After this many deaths of the process in a row, open turns are resumed one at a time. */
const MOST_DEATHS_TOGETHER = 2;

/** An open turn or command of an earlier process that has to be resumed. */
type Left =
  | {
      readonly type: 'turn';
      readonly open: OpenTurn;
      readonly turn: ClaimedTurn;
      readonly progress: number;
      /** Its attempts are spent, but turns of other assistants may have ended the process: it gets one more, alone among them. */
      readonly isLast: boolean;
    }
  | {
      readonly type: 'command';
      readonly open: OpenTurn;
      readonly message: InboundMessage;
      readonly found: FoundCommand;
    };

type TurnLeft = Extract<Left, { type: 'turn' }>;

/**
 * Recovers the open turns of earlier processes at start: each is closed, resumed from the last step on its tape, or
 * given up with a notice. Messages of its session wait meanwhile. A session whose file cannot be read is tried again
 * later and does not hold up the start. Returns the number of turns that were open.
 */
export async function recoverTurns(app: App): Promise<number> {
  const { journal, clock, log, loop, suspects: shared } = app;
  const open = journal.turns.open();
  const lost = journal.mayHaveLost ? journal.inbox.waitingSessions() : [];
  const turns: TurnLeft[] = [];
  const commands: Promise<void>[] = [];
  let isWhole = true;
  for (const key of new Set([...open.map(({ session }) => session), ...lost])) {
    try {
      for (const left of await recoverSession(key, app, shared !== null)) {
        if (left.type === 'turn') turns.push(left);
        else commands.push(repeat(left, app));
      }
    } catch (error) {
      isWhole = false;
      await reportUnreadable(key, error, app);
      loop.hold(key, (signal) => recoverLater(key, signal, app));
    }
  }
  // A session that could not be read may hold a lost turn: then the next start looks again.
  if (journal.mayHaveLost && isWhole) await journal.lossRecovered();
  const suspects = turns.toSorted((a, b) => (a.open.id < b.open.id ? -1 : 1));
  const alone = journal.starts.unclean >= MOST_DEATHS_TOGETHER && suspects.length > 1;
  if (alone)
    log.warn('recovery: the process died repeatedly; turns are resumed one at a time', {
      turns: suspects.length,
      deaths: journal.starts.unclean,
    });
  const own = alone ? new OneAtATime(clock) : null;
  for (const suspect of suspects) {
    const order = suspect.isLast ? shared : own;
    loop.hold(suspect.turn.sessionKey, async (signal) => {
      using probation = order === null ? null : await order.place(suspect.open.id, signal, topOf(suspect.open, open));
      await resumeTurnLeft(suspect, app);
      if (probation === null) return await loop.finish(suspect.turn);
      // Once its probation is over, a later death of the process does not count against this turn.
      using slot = probation.begin(() => {
        journal.turns
          .forgive(suspect.open.id)
          .catch((error: unknown) => log.warn('recovery: attempt not forgiven', { reason: errorMessage(error) }));
      });
      await loop.finish(suspect.turn, slot);
    });
  }
  await Promise.all(commands);
  return open.length;
}

/** The open turn at the top of those that began this one as their subagent. */
function topOf(turn: OpenTurn, open: readonly OpenTurn[]): string {
  const parent = open.find(({ id }) => id === turn.parent);
  return parent === undefined ? turn.id : topOf(parent, open);
}

/**
 * The turns and commands of a session to resume; others are closed here. Rejects when its file or the journal fails.
 */
async function recoverSession(key: string, app: App, isShared: boolean): Promise<readonly Left[]> {
  const { journal } = app;
  if (journal.mayHaveLost) await adoptLostTurn(key, app);
  const left: Left[] = [];
  for (const open of journal.turns.open()) {
    if (open.session !== key) continue;
    const one = await recover(open, app, isShared);
    if (one !== null) left.push(one);
  }
  return left;
}

/**
 * After a power loss a turn may be on its tape but not in the journal, where its messages still wait. It is written
 * into the journal again, so that its messages do not get a second turn. Only the newest turn of a session can be lost,
 * because the close of a turn is durable before the next one begins.
 */
async function adoptLostTurn(key: string, { log, newId, journal, sessions }: App): Promise<void> {
  const session = await sessions.open(key);
  const start = session.newestStart();
  if (start === undefined || start.turn === null) return;
  const { turn: id, role, sources } = start;
  // Ids sort by time. The clock may have been set back, so new ids are made to sort after this one.
  newId.after(id);
  const adopted = await journal.turns.adopt({ id, session: key, role: asRole(role), sources });
  if (adopted) log.warn('recovery: turn adopted from its session file after a power loss', { turn: id, session: key });
}

/**
 * Decides what becomes of one open turn: returns it if it is to be resumed; null when it was closed or given up here.
 */
async function recover(open: OpenTurn, app: App, isShared: boolean): Promise<Left | null> {
  const { journal, sessions } = app;
  if (open.isCommand) return await recoverCommand(open, app);
  const session = await sessions.open(open.session, { turn: open.id });
  const messages = await adoptSteeredMessages(open, session, app);
  const entries = session.turn(open.id);
  const ended = entries.some((entry) => entry.kind === 'turn-end');
  const turn: ClaimedTurn = { id: open.id, sessionKey: open.session, role: asRole(open.role), messages };
  if (open.state === 'stopping') {
    if (entries.length > 0 && !ended) await endStopped(session, turn);
    await journal.turns.closeStopped(open.id);
    return null;
  }
  if (messages.length === 0) {
    await giveUpTurn(turn, '', app);
    return null;
  }
  const progress = progressOf(entries);
  const isSpent = open.attempts >= (ended ? MOST_CLOSES : MOST_ATTEMPTS) && progress <= open.progress;
  const isLast = isSpent && isShared && !ended && open.attempts === MOST_ATTEMPTS;
  if ((!isSpent || isLast) && open.resumed < MOST_RESUMED) return { type: 'turn', open, turn, progress, isLast };
  app.log.error('recovery: turn given up, the process died too often in it', {
    turn: open.id,
    attempts: open.attempts,
    resumed: open.resumed,
  });
  if (ended && open.attempts < MOST_CLOSES + MOST_PLAIN_CLOSES) {
    await journal.turns.resume(open.id, { progress, died: journal.starts.unclean > 0 });
    if (await closePlainly(turn, app)) return null;
  }
  await giveUpTurn(turn, spentSentence(messages, Math.max(open.attempts, MOST_ATTEMPTS)), app);
  return null;
}

async function recoverCommand(open: OpenTurn, app: App): Promise<Left | null> {
  const message = open.messages.at(-1);
  const turn = { id: open.id, sessionKey: open.session, messages: open.messages };
  const found = message === undefined || open.state === 'stopping' ? null : await app.commands.resolve(message);
  if (message !== undefined && found?.type === 'command' && found.command.repeatable && open.attempts < MOST_ATTEMPTS) {
    return { type: 'command', open, message, found };
  }
  const what = oneLine(message?.text ?? '', 60);
  await giveUpTurn(turn, `I was restarted while running ${what}; I cannot tell whether it took effect.`, app);
  return null;
}

/** Counts an attempt of the turn in the journal; must be durable before the turn runs. */
async function resumeTurnLeft({ open, progress }: TurnLeft, { loop, journal }: App): Promise<void> {
  await loop.written(() => journal.turns.resume(open.id, { progress, died: journal.starts.unclean > 0 }));
}

/** Runs a repeatable command again. Resolves when the command is done; a turn that it begins continues after that. */
function repeat({ open, message, found }: Extract<Left, { type: 'command' }>, { loop, journal }: App): Promise<void> {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  loop.hold(open.session, async () => {
    try {
      await loop.written(() => journal.turns.resume(open.id, { progress: 0, died: journal.starts.unclean > 0 }));
      const turn = await loop.repeat(open.id, message, found);
      resolve();
      if (turn !== undefined) await loop.finish(turn);
    } finally {
      resolve();
    }
  });
  return done;
}

/**
 * Retries with a backoff until the session's file can be read, then resumes its turns. Rejects when the signal aborts.
 */
async function recoverLater(key: string, signal: AbortSignal, app: App): Promise<void> {
  const { clock, log, loop } = app;
  for (let tries = 1; ; tries += 1) {
    await sleep(clock, backoffMs(tries, UNREADABLE), signal);
    try {
      const left = await recoverSession(key, app, false);
      log.info('recovery: the session file can be read again', { session: key, tries });
      for (const one of left) {
        if (one.type === 'command') void repeat(one, app);
        else {
          await resumeTurnLeft(one, app);
          await loop.finish(one.turn);
        }
      }
      return;
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn('recovery: the session file still cannot be read', {
        session: key,
        tries,
        reason: errorMessage(error),
      });
    }
  }
}

/** How far a turn has come: the number of its entries by the model and tools. Messages of people do not count. */
function progressOf(entries: readonly TapeEntry[]): number {
  return entries.filter(
    (entry) =>
      entry.kind === 'intent' || entry.kind === 'turn-end' || (entry.kind === 'message' && entry.role !== 'user'),
  ).length;
}

async function endStopped(session: Session, { id, messages }: ClaimedTurn): Promise<void> {
  const facts = { usage: noUsage, model: null, iterations: 0 };
  await session.append([
    turnEndEntry({ turnId: id, outcome: 'stopped', answer: '', target: messages.at(-1), ...facts }),
  ]);
}

function spentSentence(messages: readonly InboundMessage[], attempts: number): string {
  const texts = messages.map(({ text }) => text);
  const asked = texts.map((text) => `“${oneLine(text, 80)}”`).join(' and ');
  return `I was stopped ${attempts} times while working on ${asked} and gave up on it. ${retryWords(texts)} runs it again.`;
}

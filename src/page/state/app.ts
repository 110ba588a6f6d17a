import { batch, effect, signal, type Signal } from '@preact/signals';
import type { LiveEvent, Row, ServerFrame, WaitingQuestion } from '../../core/gateway/http/wire.ts';
import { after } from '../clock.ts';
import { openFeed } from '../net/feed.ts';
import { loggedIn, operation } from '../net/http.ts';
import { loadNewer, loadNewest, newConversation, takeLeft, takeRows, type Conversation } from './conversation.ts';
import { learnAbilities } from './abilities.ts';
import { hearLive, liveTurns, takeSnapshot } from './live.ts';
import { main, place } from './place.ts';
import { forget, sendWaiting } from './unsent.ts';

/** What waits for a person, in all conversations. */
export const questions = signal<readonly WaitingQuestion[]>([]);

const counts = new Map<string, Signal<number>>();

/** Counts up when `what` may be different now; what shows it loads it again. */
export function changes(what: string): Signal<number> {
  const count = counts.get(what) ?? signal(0);
  counts.set(what, count);
  return count;
}

/** Read out once by screen readers, after a turn. */
export const announcement = signal('');

export const conversation = signal<Conversation>(newConversation(main.peek()));

/** Opens a conversation; the one before is left. */
function open(session: string): void {
  const opened = newConversation(session);
  conversation.value = opened;
  void loadNewest(opened);
}

/** Follows the assistant and the address until what it returns is called. */
export function start(): () => void {
  const stopFollowing = effect(() => {
    const to = place.value;
    if (!('session' in to)) return;
    const { session, state } = conversation.peek();
    if (session !== to.session || state.peek() !== 'ready') open(to.session);
  });
  const closeFeed = openFeed(hear, () => void checkLogin());
  return () => {
    closeFeed();
    stopFollowing();
  };
}

/** Asks whether this browser may talk to the assistant; the answer shows in `loggedIn`. */
async function checkLogin(): Promise<void> {
  try {
    await operation('commands', {});
    loggedIn.value = true;
  } catch {
    // Refused: `ask` has shown the login. Not reached: the feed tries again.
    loggedIn.value ??= true;
  }
}

function hear(frame: ServerFrame): void {
  switch (frame.type) {
    case 'hello':
      main.value = frame.main;
      sendWaiting();
      void learnAbilities().catch(() => {});
      break;
    case 'rows':
      hearRows(frame.rows);
      break;
    case 'gap':
      void loadNewest(conversation.value);
      break;
    case 'turns':
      takeSnapshot(frame.turns);
      // A turn may have ended while nobody listened.
      void loadNewer(conversation.value);
      break;
    case 'live':
      if (frame.event.type === 'turn-end') void endTurn(frame.event);
      else hearLive(frame.event);
      break;
    case 'questions':
      questions.value = frame.questions;
      break;
    case 'changed':
      bump(frame.what);
      break;
  }
}

const planned = new Set<string>();

/** Many changes in a moment are one. */
function bump(what: string): void {
  if (planned.has(what)) return;
  planned.add(what);
  after(300, () => {
    planned.delete(what);
    changes(what).value += 1;
  });
}

function hearRows(rows: readonly Row[]): void {
  const open = conversation.value;
  batch(() => {
    takeRows(open, rows);
    for (const { externalId } of rows) if (externalId !== undefined) forget(externalId);
  });
  const mine = rows.filter(({ session }) => session === open.session);
  // A command such as /undo or /new changes what was said before.
  if (mine.some(({ direction, kind, turn }) => direction === 'out' && (kind === 'notice' || turn === null))) {
    void loadNewest(open);
  }
}

type TurnEnd = Extract<LiveEvent, { type: 'turn-end' }>;

async function endTurn(event: TurnEnd): Promise<void> {
  const open = conversation.value;
  if (open.session === event.sessionKey) {
    announcement.value = sentenceAbout(event.result);
    await (event.items === undefined ? loadNewer(open) : takeLeft(open, event.items));
  }
  // Until then, the turn shows what it left.
  hearLive(event);
}

const MOST_READ_OUT = 600;

function sentenceAbout({ outcome, text }: TurnEnd['result']): string {
  switch (outcome) {
    case 'stopped':
      return 'The assistant has stopped.';
    case 'silent':
      return 'The assistant has finished without an answer.';
    default:
      return `The assistant says: ${text.length > MOST_READ_OUT ? `${text.slice(0, MOST_READ_OUT)} …` : text}`;
  }
}

/** Whether a session has a turn that runs. */
export function isRunning(session: string): boolean {
  for (const turn of liveTurns.value.values()) if (turn.session === session) return true;
  return false;
}

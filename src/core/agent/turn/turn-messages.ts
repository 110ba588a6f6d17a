import type { App } from '../../app.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import type { HookRunner } from '../hooks/hooks.ts';
import { asksForRest } from './completion.ts';
import { iterationsOf } from './steps.ts';
import { outboundTo } from '../outgoing.ts';
import type { Turn } from './current-turn.ts';
import type { Joining } from './steering.ts';
import { userEntry } from '../prompt/user-message.ts';

/** Writes the `turn-start` and the messages that the turn answers to the tape, with their newest edits. */
export async function beginTurn(turn: Turn, app: App): Promise<void> {
  const { session, facts, role, isOwners } = turn;
  const { turnId, messages } = facts;
  let users: readonly EntryDraft[];
  // A message may be edited while its attachments are fetched: then the entries are made again.
  do {
    users = await userEntries(turn, messages, app);
    await turn.untilDurable();
  } while (await correct(turn, app));
  // Need not be durable before the first effect: until then the journal has the messages.
  await session.append(
    [
      {
        kind: 'turn-start',
        turn: turnId,
        sources: messages.map((message) => message.id),
        role,
        origin: messages[0]?.origin ?? 'system',
        ...(isOwners ? { private: true } : {}),
      },
      ...users,
    ],
    'lazy',
  );
}

/** Applies waiting edits to messages that are not on the tape yet. False: there are none. */
async function correct({ facts, corrections, replace }: Turn, { journal }: App): Promise<boolean> {
  let isCorrected = false;
  for (const { message, admitted } of await corrections.inPlaceOf(facts.messages)) {
    if (!(await journal.inbox.correct(facts.turnId, message))) continue;
    replace(admitted);
    isCorrected = true;
  }
  return isCorrected;
}

/**
 * Adds messages to a running turn: new ones that may join, edits, and those that a power loss took off the tape. They are
 * written to the tape first, then assigned in the journal, so that a crash in between loses none.
 */
export async function addWaitingMessages(turn: Turn, app: App): Promise<void> {
  const { session, facts } = turn;
  const entries = session.turn(facts.turnId);
  const corrections = await turn.corrections.after(unreadOf(turn));
  if (corrections.length > 0) await join(turn, corrections, app);
  if (iterationsOf(entries) === 0) {
    const missing = notOnTape(facts.messages, session.turn(facts.turnId));
    if (missing.length > 0) await session.append(await userEntries(turn, missing, app), 'lazy');
  } else if (!asksForRest(entries)) {
    const joining = await turn.steering.next();
    if (joining.length > 0) await join(turn, joining, app);
  }
}

/** Whether a person edited a message that the model has not read yet. */
export async function isCorrected(turn: Turn): Promise<boolean> {
  return (await turn.corrections.after(unreadOf(turn))).length > 0;
}

async function join(turn: Turn, joining: readonly Joining[], app: App): Promise<void> {
  const { session, facts } = turn;
  const messages = joining.map(({ admitted }) => admitted);
  turn.join(messages);
  await session.append(await userEntries(turn, messages, app));
  const taken = await app.journal.turns.absorb(
    facts.turnId,
    joining.map(({ message }) => message.id),
  );
  // Edited after it was written to the tape and before it was assigned in the journal: the new text follows on the tape.
  const edited = taken.filter((now) =>
    joining.some(({ message }) => message.id === now.id && message.text !== now.text),
  );
  const admitted: InboundMessage[] = [];
  for (const message of edited) {
    const admission = await app.hooks.admit(message);
    if ('denied' in admission) await refuse(message, { turnId: facts.turnId, reason: admission.denied }, app);
    else admitted.push(admission.value);
  }
  if (admitted.length > 0) await session.append(await userEntries(turn, admitted, app));
}

/** Tells the sender why no model will read the message. */
async function refuse(
  message: InboundMessage,
  { turnId, reason }: { readonly turnId: string; readonly reason: string },
  { bus, clock }: App,
): Promise<void> {
  const notice = { id: `${message.id}:refused`, kind: 'notice', text: reason, turnId } as const;
  await bus.publishOutbound(outboundTo(message, notice, clock.now()));
}

/**
 * Passes those messages of a turn that are not on its tape through the `admit` hooks again, because after a crash the
 * journal has them as they came. `refused`: the reason of a hook that refuses one; null: none is refused.
 */
export async function admittedOf(
  messages: readonly InboundMessage[],
  entries: readonly TapeEntry[],
  hooks: Pick<HookRunner, 'admit'>,
): Promise<{ readonly admitted: readonly InboundMessage[]; readonly refused: string | null }> {
  const hasEnded = entries.some(({ kind }) => kind === 'turn-end');
  const unknown = new Set(hasEnded ? [] : notOnTape(messages, entries));
  const admitted: InboundMessage[] = [];
  for (const message of messages) {
    const admission = unknown.has(message) ? await hooks.admit(message) : { value: message };
    if ('denied' in admission) return { admitted: messages, refused: admission.denied };
    admitted.push(admission.value);
  }
  return { admitted, refused: null };
}

/** The messages of a turn that no model has read. */
function unreadOf({ session, facts }: Turn): readonly InboundMessage[] {
  const entries = session.turn(facts.turnId);
  const lastAnswer = entries.findLastIndex((entry) => entry.kind === 'message' && entry.role === 'assistant');
  return notOnTape(facts.messages, entries.slice(0, lastAnswer + 1));
}

function notOnTape(messages: readonly InboundMessage[], entries: readonly TapeEntry[]): readonly InboundMessage[] {
  const known = new Set(
    entries.flatMap((entry) => (entry.kind === 'message' && entry.role === 'user' ? entry.sources : [])),
  );
  return messages.filter(({ id }) => !known.has(id));
}

function userEntries({ facts, signal }: Turn, messages: readonly InboundMessage[], app: App): Promise<EntryDraft[]> {
  return Promise.all(messages.map((message) => userEntry(facts.turnId, message, { app, signal })));
}

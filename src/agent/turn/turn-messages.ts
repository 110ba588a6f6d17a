import type { InboundMessage } from '../../bus/messages.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { asksForRest } from './completion.ts';
import { iterationsOf } from './steps.ts';
import type { Turn, TurnPorts } from './turn-ports.ts';
import { userEntry } from '../prompt/user-message.ts';

/** Begins a turn on its tape, with what it answers in the newest words of those who wrote it. */
export async function beginTurn(turn: Turn, ports: TurnPorts): Promise<void> {
  const { session, facts, role, isOwners } = turn;
  const { turnId, messages } = facts;
  let users: readonly EntryDraft[];
  // Getting what came with a message takes time, in which its words may be corrected.
  do users = await userEntries(turn, messages, ports);
  while (await correct(turn, ports));
  // Not durable before the first effect: until then the journal has the words.
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

/** Puts corrections in the place of what is not on the tape yet; false: there are none. */
async function correct({ facts, corrections, replace }: Turn, { journal }: TurnPorts): Promise<boolean> {
  let isCorrected = false;
  for (const { edit, message } of await corrections.of(facts.messages)) {
    if (!(await journal.inbox.correct(facts.turnId, edit))) continue;
    replace(message);
    isCorrected = true;
  }
  return isCorrected;
}

/**
 * Adds what came meanwhile and what a power loss took off the tape: on the tape first, then taken in the journal, so that
 * a crash between loses none.
 */
export async function hearMore(turn: Turn, ports: TurnPorts): Promise<void> {
  const { session, facts } = turn;
  const entries = session.turn(facts.turnId);
  const corrections = await turn.corrections.of(unreadOf(turn));
  if (corrections.length > 0)
    await join(
      turn,
      corrections.map(({ edit }) => edit),
      ports,
    );
  if (iterationsOf(entries) === 0) {
    const missing = notOnTape(facts.messages, session.turn(facts.turnId));
    if (missing.length > 0) await session.append(await userEntries(turn, missing, ports), 'lazy');
  } else if (!asksForRest(entries)) {
    const messages = turn.steer();
    if (messages.length > 0) await join(turn, messages, ports);
  }
}

/** True when somebody corrected what the model is about to read. */
export async function isCorrected(turn: Turn): Promise<boolean> {
  return (await turn.corrections.of(unreadOf(turn))).length > 0;
}

async function join(turn: Turn, messages: readonly InboundMessage[], ports: TurnPorts): Promise<void> {
  const { session, facts } = turn;
  turn.join(messages);
  await session.append(await userEntries(turn, messages, ports));
  const taken = await ports.journal.turns.absorb(
    facts.turnId,
    messages.map((message) => message.id),
  );
  // Edited between being read and being taken: the newer words follow, since the model has read neither.
  const edited = taken.filter((message) => messages.some(({ id, text }) => id === message.id && text !== message.text));
  if (edited.length > 0) await session.append(await userEntries(turn, edited, ports));
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

function userEntries(turn: Turn, messages: readonly InboundMessage[], ports: TurnPorts): Promise<EntryDraft[]> {
  const { redact, media, skills, attachments } = ports;
  const { signal } = turn;
  const { turnId } = turn.facts;
  const options = {
    timezone: ports.settings.timezone,
    redact,
    media,
    attachments,
    signal,
    skills: (message: InboundMessage) => skills.called(message),
  };
  return Promise.all(messages.map((message) => userEntry(turnId, message, options)));
}

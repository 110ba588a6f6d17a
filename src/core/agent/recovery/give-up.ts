import type { App } from '../../app.ts';
import { API_CHANNEL } from '../../bus/api.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import { errorMessage } from '../../util/errors.ts';
import { noUsage } from '../../util/token-usage.ts';
import { emitTurnEnd } from '../turn/live.ts';
import { deadNotice, outboundTo, withParts } from '../outgoing.ts';
import { resultMessages, failureMessages } from '../subagents/turns.ts';
import { subagentOf } from '../subagents/task.ts';
import { choseSilence } from '../turn/answer-text.ts';
import { wasHeldBack } from '../turn/held-back.ts';
import { turnEndEntry } from '../turn/end.ts';

// Neither `giveUpTurn` nor `closePlainly` runs a hook, asks a model or renders markup, so the fault that made the turn fail or
// killed the process cannot occur again.

interface LeftTurn {
  readonly id: string;
  readonly sessionKey: string;
  /** The messages that it answers. */
  readonly messages: readonly InboundMessage[];
  /** The command that asked for it. */
  readonly asked?: InboundMessage;
}

/**
 * Gives a turn up: ends it on its tape if that can be written, closes it in the journal, and sends `text` to the
 * person, or to the session that gave the task to a subagent. Rejects when the journal cannot be written.
 */
export async function giveUpTurn(turn: LeftTurn, text: string, app: App): Promise<void> {
  const { log, journal } = app;
  const target = turn.messages.at(-1);
  await endOnTape(turn, text, app).catch((error: unknown) =>
    log.warn('turn: end not written to the session file', {
      turn: turn.id,
      reason: errorMessage(error),
    }),
  );
  if (target === undefined) await journal.turns.dead(turn.id, []);
  else if (subagentOf(target) === null) await journal.turns.dead(turn.id, [deadNotice(turn.id, target, text, app)]);
  else await journal.turns.dead(turn.id, [], failureMessages(target, { turnId: turn.id, text }, app));
  emitTurnEnd(waitingFor(turn), { turnId: turn.id, outcome: 'failed', text }, app);
}

/** Ends a turn on its tape, with `text` for the model, and closes it in the journal without a word to anyone. */
export async function closeUnseen(turn: LeftTurn, text: string, app: App): Promise<void> {
  await endOnTape(turn, text, app).catch((error: unknown) =>
    app.log.warn('turn: its end could not be written into the session file', {
      turn: turn.id,
      reason: errorMessage(error),
    }),
  );
  await app.journal.turns.dead(turn.id, []);
}

/** Closes a turn that ended on its tape and sends its answer as plain text. False when it has not ended there. */
export async function closePlainly(turn: LeftTurn, app: App): Promise<boolean> {
  const { journal, sessions, clock } = app;
  const session = await sessions.open(turn.sessionKey, { turn: turn.id });
  const entries = session.turn(turn.id);
  const end = entries.findLast((entry) => entry.kind === 'turn-end');
  const target = turn.messages.at(-1);
  if (end === undefined || target === undefined) return false;
  const isSubagent = subagentOf(target) !== null;
  const isSilent =
    isSubagent ||
    target.channel === API_CHANNEL ||
    end.answer.trim() === '' ||
    choseSilence(entries) ||
    wasHeldBack(turn.id, target, app);
  const own = end.outcome === 'failed';
  const content = { id: `${turn.id}:0`, kind: 'answer', text: end.answer, turnId: turn.id, own, plain: true } as const;
  const replies = isSilent ? [] : [withParts(outboundTo(target, content, clock.now()), app)];
  const internal = isSubagent ? resultMessages(session, { turnId: turn.id, asked: target, end }, app) : [];
  const outcome = end.outcome === 'failed' ? 'failed' : 'answered';
  const closed = end.outcome !== 'stopped' && (await journal.turns.close(turn.id, outcome, replies, internal));
  if (!closed) await journal.turns.closeStopped(turn.id);
  const text = closed ? end.answer : 'Stopped.';
  emitTurnEnd(waitingFor(turn), { turnId: turn.id, outcome: closed ? outcome : 'stopped', text }, app);
  return true;
}

async function endOnTape(turn: LeftTurn, text: string, { sessions }: App): Promise<void> {
  const session = await sessions.open(turn.sessionKey, { turn: turn.id });
  const entries = session.turn(turn.id);
  if (entries.length === 0 || entries.some((entry) => entry.kind === 'turn-end')) return;
  const facts = { usage: noUsage, model: null, iterations: 0 };
  await session.append([
    turnEndEntry({ turnId: turn.id, outcome: 'failed', answer: text, target: turn.messages.at(-1), ...facts }),
  ]);
}

function waitingFor({ messages, asked }: LeftTurn): readonly InboundMessage[] {
  return asked === undefined ? messages : [...messages, asked];
}

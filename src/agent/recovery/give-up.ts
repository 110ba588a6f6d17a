import type { InboundMessage } from '../../bus/messages.ts';
import type { MessageBus } from '../../bus/bus.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Sessions } from '../../session/sessions.ts';
import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { noUsage } from '../../util/token-usage.ts';
import { emitTurnEnd } from '../turn/live.ts';
import { deadNotice, outboundTo, withParts, type RenderParts } from '../outgoing.ts';
import { bringsBack, givesUp, type SubagentTurnPorts } from '../subagents/turns.ts';
import { subagentOf } from '../subagents/task.ts';
import { choseSilence } from '../turn/answer-text.ts';
import { turnEndEntry } from '../turn/end.ts';

/**
 * The two ways to close a turn that is not closed as it should be. Neither runs a hook, asks a model or reads markup:
 * whatever made the turn fail, or killed the process, is not run again.
 */
export interface GiveUpPorts {
  readonly journal: Pick<Journal, 'turns' | 'cron' | 'heartbeats'>;
  readonly sessions: Pick<Sessions, 'open'>;
  readonly bus: MessageBus;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  readonly redact: (text: string) => string;
  readonly render: RenderParts;
  readonly subagents: SubagentTurnPorts;
}

interface LeftTurn {
  readonly id: string;
  readonly sessionKey: string;
  /** What it answers. */
  readonly messages: readonly InboundMessage[];
  /** The command that asked for it. */
  readonly asked?: InboundMessage;
}

/**
 * Gives a turn up: it ends on its tape as far as that can be written, whoever wrote is told, or the session that gave the
 * task to a subagent, and nobody waits for it any more. Rejects when the journal cannot be written.
 */
export async function giveUpTurn(turn: LeftTurn, text: string, ports: GiveUpPorts): Promise<void> {
  const { journal, subagents, clock, log, redact, render } = ports;
  const target = turn.messages.at(-1);
  await endOnTape(turn, text, ports).catch((error: unknown) =>
    log.warn('turn: its end could not be written into the session file', {
      turn: turn.id,
      reason: errorMessage(error),
    }),
  );
  if (target === undefined) await journal.turns.dead(turn.id, []);
  else if (subagentOf(target) === null) {
    const facts = { now: clock.now(), render, redact };
    await journal.turns.dead(turn.id, [deadNotice(turn.id, target, text, facts)]);
  } else {
    await journal.turns.dead(turn.id, [], givesUp(target, { turnId: turn.id, text }, subagents));
  }
  emitTurnEnd(waitingFor(turn), { turnId: turn.id, outcome: 'failed', text }, ports);
}

/** Closes a turn that has ended on its tape with its bare answer. False: it has not ended there. */
export async function closePlainly(turn: LeftTurn, ports: GiveUpPorts): Promise<boolean> {
  const { journal, sessions, clock, redact, render, subagents } = ports;
  const session = await sessions.open(turn.sessionKey, { turn: turn.id });
  const entries = session.turn(turn.id);
  const end = entries.findLast((entry) => entry.kind === 'turn-end');
  const target = turn.messages.at(-1);
  if (end === undefined || target === undefined) return false;
  const isSubagent = subagentOf(target) !== null;
  const isSilent =
    isSubagent || end.answer.trim() === '' || choseSilence(entries) || isHeldBack(turn.id, target, journal);
  const own = end.outcome === 'failed';
  const content = { id: `${turn.id}:0`, kind: 'answer', text: end.answer, turnId: turn.id, own, plain: true } as const;
  const replies = isSilent ? [] : [withParts(outboundTo(target, content, clock.now()), { render, redact })];
  const internal = isSubagent ? bringsBack(session, { turnId: turn.id, asked: target, end }, subagents) : [];
  const outcome = end.outcome === 'failed' ? 'failed' : 'answered';
  const closed = end.outcome !== 'stopped' && (await journal.turns.close(turn.id, outcome, replies, internal));
  if (!closed) await journal.turns.closeStopped(turn.id);
  const text = closed ? end.answer : 'Stopped.';
  emitTurnEnd(waitingFor(turn), { turnId: turn.id, outcome: closed ? outcome : 'stopped', text }, ports);
  return true;
}

async function endOnTape(turn: LeftTurn, text: string, { sessions }: GiveUpPorts): Promise<void> {
  const session = await sessions.open(turn.sessionKey, { turn: turn.id });
  const entries = session.turn(turn.id);
  if (entries.length === 0 || entries.some((entry) => entry.kind === 'turn-end')) return;
  const facts = { usage: noUsage, model: null, iterations: 0 };
  await session.append([
    turnEndEntry({ turnId: turn.id, outcome: 'failed', answer: text, target: turn.messages.at(-1), ...facts }),
  ]);
}

/** It was decided that people are told nothing of it. */
function isHeldBack(turnId: string, target: InboundMessage, { cron, heartbeats }: GiveUpPorts['journal']): boolean {
  if (target.origin === 'cron') return cron.silenced(turnId) !== null;
  return target.origin === 'heartbeat' && heartbeats.ofMessage(target.id)?.notified === false;
}

function waitingFor({ messages, asked }: LeftTurn): readonly InboundMessage[] {
  return asked === undefined ? messages : [...messages, asked];
}

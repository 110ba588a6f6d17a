import type { InboundMessage } from '../../bus/messages.ts';
import type { EntryOf } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';
import { cut } from '../../util/text.ts';
import type { SubagentTask } from './task.ts';

/** Time limit of a subagent, ms. */
export const SUBAGENT_MS = 15 * 60_000;
/** The answer of a turn that reached the limit. */
export const TIMED_OUT = 'It worked for as long as a subagent may, and was stopped.';

/** How a subagent ended, as the program sees it, not as its model reports it. */
export type SubagentStatus = 'completed' | 'failed' | 'stopped' | 'timed out' | 'ran out of iterations';

/** The result of a subagent. */
export interface SubagentOutcome {
  readonly status: SubagentStatus;
  readonly text: string;
  /** The taint of what it read. */
  readonly untrusted: boolean;
  readonly private: boolean;
}

/** The outcome of a turn that has ended on its tape. */
export function outcomeOf(session: Session, end: EntryOf<'turn-end'>, maxIterations: number): SubagentOutcome {
  const { untrusted, private: isPrivate } = session.history();
  return { status: statusOf(end, maxIterations), text: end.answer, untrusted, private: isPrivate };
}

function statusOf({ outcome, answer, iterations }: EntryOf<'turn-end'>, maxIterations: number): SubagentStatus {
  if (outcome === 'stopped') return 'stopped';
  if (answer === TIMED_OUT) return 'timed out';
  // The last model call of a turn gets no tools, so a turn that reached it was cut off.
  if (iterations >= maxIterations) return 'ran out of iterations';
  return outcome === 'answered' ? 'completed' : 'failed';
}

/** The message that brings a result to the session that spawned the subagent. */
export function resultMessage(
  asked: InboundMessage,
  task: SubagentTask,
  given: {
    readonly id: string;
    readonly now: number;
    readonly role: InboundMessage['role'];
    readonly turn: string;
    readonly outcome: SubagentOutcome;
    /** Most characters of the result. */
    readonly most: number;
  },
): InboundMessage {
  const { id, now, role, turn, outcome, most } = given;
  const merge = task.inherit && outcome.status === 'completed';
  const { subagent: _task, taint: _taint, model: _model, ...metadata } = asked.metadata;
  return {
    ...asked,
    id,
    role,
    text: merge ? '' : shortened(outcome.text, most),
    receivedAt: now,
    externalId: `${asked.externalId}:result`,
    sessionKey: task.session,
    untrusted: outcome.untrusted && !merge,
    metadata: {
      ...metadata,
      taint: { untrusted: outcome.untrusted, private: outcome.private },
      result: { label: task.label, status: outcome.status, session: asked.sessionKey, turn, merge, depth: task.depth },
    },
  };
}

function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${cut(text, most)}\n\n[The result is cut here, after ${most} characters.]`;
}

import { sentences } from '../../core/api.ts';
import { withoutStop, type OwnStep, type WhyStep, type WhyStory } from '../../core/api-why.ts';
import type { Look } from './looks.ts';

export interface HeartbeatFacts {
  /** Newest first. */
  readonly looks: readonly Look[];
  /** What it does now, in a few words; null: it is switched off. */
  readonly state: string | null;
}

/** What became of the heartbeat: the newest look first, then what it does now. */
export function heartbeatStory({ looks, state }: HeartbeatFacts, { now }: { readonly now: number }): WhyStory {
  const [newest] = looks;
  const present = state === null ? 'It is switched off (heartbeat.enabled).' : `Its state now: ${state}.`;
  const last = newest === undefined ? 'It has not looked yet.' : lookText(newest);
  return {
    subject: 'the heartbeat',
    cause: state === null ? sentences(present, newest === undefined ? '' : last) : sentences(last, present),
    turn: null,
    session: 'heartbeat',
    at: newest?.at ?? now,
    steps: looks.toReversed().map((look): WhyStep => ({ at: look.at, what: withoutStop(lookText(look)) })),
    cost: null,
  };
}

/** A look as one line of what the assistant did by itself. */
export function stepOf({ at, action, reason, turn, notified, verdict }: Look): OwnStep {
  if (action !== 'run')
    return { at, what: 'heartbeat', outcome: action === 'skip' ? 'nothing to do' : 'failed', reason };
  const what = `heartbeat: ${reason}`;
  if (notified !== null) return { at, what, outcome: notified ? 'told' : 'silent', reason: verdict };
  return { at, what, outcome: turn ?? 'waiting', reason: null };
}

/** Why one heartbeat did something or not, and whether its person was told. */
function lookText({ action, reason, turn, notified, verdict }: Look): string {
  if (action === 'skip') return `It looked and had nothing to do: ${withoutStop(reason)}.`;
  if (action === 'failed') return `It could not look: ${withoutStop(reason)}.`;
  if (action === 'refused') return `It could not look, because its model was refused: ${withoutStop(reason)}.`;
  const why = verdict === null ? '' : `: ${withoutStop(verdict)}`;
  const did = `It did “${reason}”`;
  if (notified === true) return `${did} and told you${why}.`;
  if (notified === false) return `${did} and did not tell you${why}.`;
  if (turn === 'failed') return `${did}, and that failed.`;
  if (turn === 'stopped') return `${did}, and was stopped.`;
  return turn === 'answered' ? `${did}.` : `It is at “${reason}”.`;
}

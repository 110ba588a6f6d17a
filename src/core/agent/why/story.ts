import type { MessageLife } from '../../journal/lives.ts';
import type { CallRecord } from '../../session/entry.ts';
import { turnOf, type ModelCall, type TapeTurn } from '../../session/turns.ts';
import { costText, countText, literal, oneLine } from '../../util/text.ts';
import { receiptOf } from '../receipt/receipt.ts';
import { resultOf } from '../subagents/task.ts';
import { causeOf } from './cause.ts';
import type { WhyFacts, WhyStep, WhyStory } from './facts.ts';
import { askedFor, problemText } from './words.ts';

const QUOTED = 80;

/**
 * Tells why something happened, or did not, from what the stores know. `seesAll`: for an owner where nobody else reads it;
 * others read neither prices nor what models, tools and questions to the owner were about.
 */
export function storyOf(known: WhyFacts, { seesAll }: { readonly seesAll: boolean }): WhyStory {
  const facts = seesAll ? known : withoutPrivate(known);
  const { message, turn, cost, now } = facts;
  return {
    subject: subjectOf(facts),
    cause: causeOf(facts),
    turn: turn?.id ?? null,
    session: turn?.session ?? message?.session ?? '',
    at: message?.receivedAt ?? turn?.startedAt ?? now,
    steps: stepsOf(facts, seesAll).toSorted((a, b) => a.at - b.at),
    cost:
      cost !== null && cost.calls > 0
        ? `${countText(cost.usage.input + cost.usage.output)} tokens, ${costText(cost)}`
        : null,
  };
}

/** The facts as somebody may read them who is not an owner alone. */
function withoutPrivate(facts: WhyFacts): WhyFacts {
  const { entries, others, questions, channel, tasks } = facts;
  return {
    ...facts,
    entries: entries.filter(({ kind }) => kind === 'turn-end' || kind === 'trim'),
    others: others.map((one) => ({ ...one, text: '' })),
    tasks: tasks.map((one) => ({ ...one, label: '', answer: '' })),
    retried: null,
    questions: questions.map((one) => ({ ...one, title: '', detail: '', answeredBy: null })),
    channel: channel === undefined ? undefined : { name: channel.name, state: channel.state },
    promptChange: null,
    cost: null,
  };
}

function subjectOf({ message, turn, sent }: WhyFacts): string {
  const result = resultOf(message);
  if (result !== null) return `what the subagent “${oneLine(result.label, QUOTED)}” brought`;
  const text = message?.text ?? sent?.text ?? '';
  if (text !== '') return `“${oneLine(text, QUOTED)}”`;
  if (message !== undefined || sent !== null) return 'a message';
  return turn === undefined ? 'a message that I do not know' : `turn ${turn.id}`;
}

function stepsOf(facts: WhyFacts, seesAll: boolean): readonly WhyStep[] {
  const { message, others, edits, turn, entries, replies, questions, promptChange } = facts;
  const received = message === undefined ? [] : [message, ...others];
  const folded = turnOf(entries);
  return [
    ...edits.map((one) => ({ at: one.receivedAt, what: 'an edit of it came' })),
    ...received.map((one) => ({ at: one.receivedAt, what: cameFrom(one) })),
    ...(turn === undefined ? [] : [{ at: turn.startedAt, what: 'turn began' }]),
    ...(promptChange !== null && turn !== undefined ? [{ at: turn.startedAt, what: promptChange }] : []),
    ...(seesAll ? [...trimSteps(entries), ...folded.modelCalls.flatMap(modelSteps), ...didSteps(folded)] : []),
    ...questions.flatMap(({ state, answeredBy, askedAt, updatedAt, ...about }) => [
      { at: askedAt, what: `asked about ${askedFor(about)}` },
      ...(state === 'waiting'
        ? []
        : [{ at: updatedAt, what: `${state}${answeredBy === null ? '' : ` by ${answeredBy}`}` }]),
    ]),
    ...(folded.end === undefined ? [] : [{ at: folded.end.at, what: `turn ended: ${folded.end.outcome}` }]),
    ...replies.map(({ kind, state, reason, updatedAt, isRepeated }) => ({
      at: updatedAt,
      what: `${kind} ${state}${isRepeated ? ', after it was sent twice' : ''}${reason === null ? '' : ` (${reason})`}`,
    })),
  ];
}

function cameFrom({ channel, origin, text }: MessageLife): string {
  const where = origin === 'user' ? `received on ${channel}` : `began by itself (${origin})`;
  return text === '' ? where : `${where}: “${oneLine(text, QUOTED)}”`;
}

function trimSteps(entries: WhyFacts['entries']): readonly WhyStep[] {
  return entries.flatMap(({ kind, at }) =>
    kind === 'trim' ? [{ at, what: 'the oldest part of the conversation was left out' }] : [],
  );
}

function modelSteps({ note, answer }: ModelCall): readonly WhyStep[] {
  const failures = note === undefined ? [] : failedAttempts(note.at, note.call);
  if (answer === undefined) return failures;
  const { usage, provider, model, at } = answer;
  const tokens =
    usage === null
      ? ''
      : `: ${countText(usage.input)} tokens in (${countText(usage.cached)} cached), ${countText(usage.output)} out`;
  return [...failures, { at, what: `${provider}/${model} answered${tokens}` }];
}

function failedAttempts(at: number, { attempts }: CallRecord): readonly WhyStep[] {
  return attempts.flatMap(({ provider, model, failed }) =>
    failed === undefined ? [] : [{ at, what: `${provider}/${model} failed: ${failed.kind}, ${wordsOf(failed)}` }],
  );
}

/** The server's own words, else ours. */
function wordsOf({ reason, said }: NonNullable<CallRecord['attempts'][number]['failed']>): string {
  return said === undefined ? oneLine(reason, QUOTED) : literal(oneLine(said, QUOTED));
}

function didSteps(turn: TapeTurn): readonly WhyStep[] {
  const problems = new Map(turn.results.map(({ entry: { callId, problem } }) => [callId, problem]));
  return receiptOf(turn).map(({ callId, at, kind, tool, target, outcome, exitCode, approved }) => {
    const what = target === null ? tool : `${kind} ${oneLine(target, QUOTED)}`;
    const facts = [outcome, ...(exitCode === null ? [] : [`exit code ${exitCode}`]), ...(approved ? ['approved'] : [])];
    const problem = outcome === 'done' ? undefined : problems.get(callId);
    const why = problem === undefined ? '' : ` (${problemText(problem, QUOTED)})`;
    return { at, what: `${what}: ${facts.join(', ')}${why}` };
  });
}

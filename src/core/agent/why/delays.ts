import type { Delay, WhyFacts } from './facts.ts';
import { modelDelays, placeWait } from './model-failures.ts';
import { askedFor, durationText, thenText } from './words.ts';

/** Shorter ones are not worth a word: of messages between the platform and here, in which clocks may differ; of turns; of people and deliveries. */
const LONG_WAY_MS = 60_000;
const LONG_WAIT_MS = 5_000;
const LONG_ANSWER_MS = 60_000;
const LONG_OUTAGE_MS = 1_000;

/** What kept the person from their answer, the longest first. */
export function delays(facts: WhyFacts): readonly string[] {
  const outage = outageOf(facts);
  const all = [
    ...(outage.length > 0 ? outage : [...wayOf(facts), ...waitOf(facts)]),
    ...placeOf(facts),
    ...peopleOf(facts),
    ...modelDelays(facts.entries),
    ...crashOf(facts),
    ...deliveryOf(facts),
  ];
  return all.toSorted((a, b) => b.ms - a.ms).map(({ text }) => text);
}

/** When the person sent it, as far as the platform says; else when it came. */
function sentAt({ message, turn, clockLag, now }: WhyFacts): number {
  const at = message?.metadata['sentAt'];
  return typeof at === 'number' ? at + clockLag : (message?.receivedAt ?? turn?.startedAt ?? now);
}

function wayOf(facts: WhyFacts): readonly Delay[] {
  const { message, channel, channelThen } = facts;
  if (message === undefined) return [];
  const sent = sentAt(facts);
  const ms = message.receivedAt - sent;
  if (ms < LONG_WAY_MS) return [];
  const late = `It reached me ${durationText(ms)} after it was sent`;
  const name = channel?.name ?? message.channel;
  if (channelThen === undefined)
    return [{ ms, text: `${late}, because until then I was not running or had no connection to ${name}.` }];
  const link = channelThen.state === 'running' ? 'although' : 'because';
  return [{ ms, text: `${late}, ${link} ${thenText(name, channelThen)}.` }];
}

function waitOf({ message, turn, before, retried, upSince }: WhyFacts): readonly Delay[] {
  if (message === undefined || turn === undefined) return [];
  const ms = turn.startedAt - message.receivedAt;
  if (retried !== null) return [{ ms, text: `It was answered again by /retry; before that, ${retried}` }];
  if (ms < LONG_WAIT_MS) return [];
  const waited = `It waited ${durationText(ms)}`;
  if (before !== undefined && before.updatedAt > message.receivedAt)
    return [{ ms, text: `${waited} for an earlier turn of this conversation.` }];
  if (message.receivedAt < upSince && upSince <= turn.startedAt)
    return [{ ms, text: `${waited}, because I was stopped before its turn began, and started again.` }];
  return [{ ms, text: `${waited} before its turn began.` }];
}

/** The disk took no writes while the message waited: then nothing of it could begin. */
function outageOf(facts: WhyFacts): readonly Delay[] {
  const { turn, outages } = facts;
  if (turn === undefined) return [];
  const from = sentAt(facts);
  const during = outages.findLast(({ since, until }) => since < turn.updatedAt && until > from);
  if (during === undefined) return [];
  const ms = Math.min(during.until, turn.updatedAt) - Math.max(during.since, from);
  if (ms < LONG_OUTAGE_MS) return [];
  return [{ ms, text: `It waited ${durationText(ms)}, because the disk could not be written.` }];
}

function placeOf({ entries }: WhyFacts): readonly Delay[] {
  const ms = placeWait(entries);
  return ms < LONG_WAIT_MS
    ? []
    : [
        {
          ms,
          text: `It waited ${durationText(ms)} for a free place, because other conversations were being answered.`,
        },
      ];
}

function peopleOf({ questions }: WhyFacts): readonly Delay[] {
  return questions.flatMap(({ state, askedAt, updatedAt, ...about }) => {
    const ms = updatedAt - askedAt;
    const isAnswered = state === 'approved' || state === 'answered';
    if (!isAnswered || ms < LONG_ANSWER_MS) return [];
    return [{ ms, text: `It waited ${durationText(ms)} for an answer to the question about ${askedFor(about)}.` }];
  });
}

function crashOf({ turn, entries }: WhyFacts): readonly Delay[] {
  if (turn === undefined || turn.resumed === 0) return [];
  const times = [turn.startedAt, ...entries.map(({ at }) => at), turn.updatedAt];
  const ms = Math.max(0, ...times.map((at, n) => at - (times[n - 1] ?? at)));
  return [{ ms, text: 'The process ended while I worked on it, and the next one went on with it.' }];
}

function deliveryOf({ turn, replies }: WhyFacts): readonly Delay[] {
  if (turn === undefined) return [];
  const answer = replies.findLast(({ kind }) => kind === 'answer');
  const ms = answer?.state === 'delivered' ? answer.updatedAt - turn.updatedAt : 0;
  return [
    ...(ms < LONG_ANSWER_MS
      ? []
      : [{ ms, text: `The answer was written, but could only be sent ${durationText(ms)} later.` }]),
    ...(replies.some(({ isRepeated }) => isRepeated)
      ? [{ ms: 0, text: 'The answer was sent again, because the first copy may not have arrived.' }]
      : []),
  ];
}

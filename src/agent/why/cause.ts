import type { QuestionLife, ReplyLife } from '../../journal/lives.ts';
import type { CallRecord, TapeEntry } from '../../session/entry.ts';
import { oneLine, plural, sentences } from '../../util/text.ts';
import type { ChannelNow, WhyFacts } from './facts.ts';

const LONGEST = 300;
const LONGEST_NAME = 100;
/** A shorter wait is not worth a word. */
const LONG_WAIT_MS = 5_000;

/** One or two sentences that say why something happened, or did not: the cause that came last counts. */
export function causeOf(facts: WhyFacts): string {
  const { message, turn } = facts;
  if (message === undefined && turn === undefined) return neverCame(facts);
  const early = message === undefined ? null : withoutTurn(facts);
  if (early !== null) return early;
  if (turn === undefined) return 'Of its turn nothing is kept any more.';
  if (turn.state === 'running' || turn.state === 'stopping') return running(facts);
  const undelivered = facts.replies.find(isUndelivered);
  if (undelivered !== undefined) return notArrived(undelivered, facts.channel);
  const about = circumstances(facts);
  return turn.outcome === 'answered' && about.length > 0 ? sentences(...about) : sentences(ended(facts), ...about);
}

/** The words for a message of which nothing is known. */
function neverCame({ channel, chatType }: WhyFacts): string {
  return sentences(
    'I never received it.',
    chatType === 'direct'
      ? ''
      : 'In groups I take only what mentions me or replies to me, from people who are allowed.',
    channel === undefined ? '' : `The channel ${channel.name} is ${stateOf(channel)} now.`,
  );
}

/** Why a message has no turn of its own; null: it has one. */
function withoutTurn({ message, turn, busyWith, now }: WhyFacts): string | null {
  const { state, reason } = message ?? {};
  if (state === 'refused') return refused(reason ?? null);
  if (reason === 'stop') return 'It was the request to stop, and it was carried out when it came.';
  if (reason === 'answer') return 'It was taken as the answer to a question.';
  if (reason === 'edit') return 'It changed a message that had not been answered yet, so that one has the answer.';
  if (reason === 'withdrawn') return 'It was withdrawn before its turn came.';
  if (state === 'accepted' && turn === undefined) {
    const since = durationText(now - (message?.receivedAt ?? now));
    return busyWith === undefined
      ? `It waits for its turn for ${since}: other conversations are being answered first.`
      : `It waits for ${since}: an earlier turn of this conversation is still running.`;
  }
  return null;
}

function refused(reason: string | null): string {
  switch (reason) {
    case 'chat-full':
      return 'I did not take it: too many messages were waiting in this chat.';
    case 'channel-full':
      return 'I did not take it: too many messages were waiting on this channel.';
    case 'interrupted':
      return 'It was dropped before its turn came: a later command began anew.';
    case 'stopped':
      return 'It was dropped before its turn came: /stop was sent.';
    case 'dropped by the owner':
      return 'The owner dropped it, so it got no answer.';
    case null:
      return 'It was dropped before its turn came.';
    default:
      return `It was dropped before its turn came: ${reason}.`;
  }
}

function running({ turn, questions, entries, now }: WhyFacts): string {
  const open = questions.find(({ state }) => state === 'waiting');
  if (open !== undefined) return `It waits for an answer to the question about ${askedFor(open)}.`;
  if (turn?.state === 'stopping') return 'It is being stopped.';
  const last = entries.findLast((entry) => entry.kind === 'intent' || entry.kind === 'message');
  const doing = last?.kind === 'intent' ? `${last.name} runs` : 'the model is being asked';
  return `I am still working on it, for ${durationText(now - (turn?.startedAt ?? now))}: ${doing}.`;
}

function isUndelivered({ kind, state }: ReplyLife): boolean {
  return (kind === 'answer' || kind === 'part') && state !== 'delivered' && state !== 'streaming';
}

function notArrived({ state, reason, attempts }: ReplyLife, channel: ChannelNow | undefined): string {
  const why = reason === null ? '' : `: ${reason.replace(/[.]$/u, '')}`;
  if (state === 'dead') return `The answer was written but did not arrive${why}.`;
  if (state === 'expired') return `The answer was written but could not be sent in time${why}.`;
  const isDown = channel !== undefined && channel.state !== 'running';
  const now = isDown ? ` The channel ${channel.name} is ${stateOf(channel)} now.` : '';
  return `The answer is written and waits to be sent, after ${plural(attempts, 'attempt')}${why}.${now}`;
}

function ended({ turn, entries }: WhyFacts): string {
  const end = entries.findLast((entry) => entry.kind === 'turn-end');
  switch (turn?.outcome) {
    case 'stopped':
      return 'It was stopped.';
    case 'silent':
      return 'I chose to say nothing.';
    case 'command':
      return 'It was a command, and its reply is all that it does.';
    case 'failed':
      return turn.state === 'dead'
        ? 'I gave up on it: the process ended each time that I worked on it.'
        : sentences('I could not answer it.', oneLine(end?.answer ?? failureIn(entries) ?? '', LONGEST));
    default:
      return end?.answer.trim() === '' ? 'It was worked on, and there was nothing to say.' : 'It was answered.';
  }
}

/** What made the answer late, or other than one would expect; what weighs most comes first. */
function circumstances(facts: WhyFacts): readonly string[] {
  const { message, others, turn, entries, questions, replies } = facts;
  const waited = message === undefined || turn === undefined ? 0 : turn.startedAt - message.receivedAt;
  const failed = failureIn(entries);
  const end = entries.findLast((entry) => entry.kind === 'turn-end');
  const noes = questions.flatMap(saidNo);
  return [
    ...(noes.length > 0 ? noes : [(end?.unfinished ?? '').replaceAll('`', '')]),
    turn?.outcome === 'answered' && failed !== null
      ? `${end?.model ?? 'Another attempt'} answered, because ${failed}`
      : '',
    (turn?.resumed ?? 0) > 0 ? 'The process ended while I worked on it, and the next one went on with it.' : '',
    replies.some(({ isRepeated }) => isRepeated)
      ? 'The answer was sent again, because the first copy may not have arrived.'
      : '',
    waited >= LONG_WAIT_MS ? `It waited ${durationText(waited)} for an earlier turn of this conversation.` : '',
    waited < 0 ? 'It came while I was already working, and joined that turn.' : '',
    others.length > 0 ? `${plural(others.length, 'other message')} had the same answer.` : '',
    entries.some(({ kind }) => kind === 'trim')
      ? 'The conversation had become too long for the model, so its oldest part was left out.'
      : '',
  ].filter((text) => text !== '');
}

function saidNo({ kind, state, title, detail, answeredBy }: QuestionLife): readonly string[] {
  if (kind !== 'approval') return [];
  const what = `${askedFor({ title, detail })} was not done`;
  if (state === 'denied') return [`${what}: ${answeredBy ?? 'the owner'} said no.`];
  return state === 'expired' ? [`${what}: nobody answered the question in time.`] : [];
}

/** The newest attempt of a model call that failed, as a sentence. */
function failureIn(entries: readonly TapeEntry[]): string | null {
  const calls: readonly CallRecord[] = entries.flatMap((entry) =>
    entry.kind === 'note' && entry.call !== undefined ? [entry.call] : [],
  );
  const failed = calls.flatMap(({ attempts }) => attempts).findLast((attempt) => attempt.failed !== undefined);
  if (failed?.failed === undefined) return null;
  const { kind, status, reason } = failed.failed;
  const code = status === undefined ? '' : ` ${status}`;
  return `${failed.provider}/${failed.model} failed (${kind}${code}): ${oneLine(reason, LONGEST).replace(/[.]$/u, '')}.`;
}

/** What a question was about: the command line or the like, else its title; without both, as for a guest, only that it was one. */
export function askedFor({ title, detail }: Pick<QuestionLife, 'title' | 'detail'>): string {
  const about = oneLine(detail === '' ? title : detail.replaceAll('`', ''), LONGEST_NAME);
  return about === '' ? 'something that needs a yes' : `“${about}”`;
}

function stateOf({ state, detail }: ChannelNow): string {
  return detail === undefined ? state : `${state} (${oneLine(detail, LONGEST)})`;
}

/** `45 s`, `3 min` or `5 h`. */
function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

import { FROM } from '../../bus/messages.ts';
import type { MessageLife, ReplyLife } from '../../journal/lives.ts';
import type { TapeEntry } from '../../session/entry.ts';
import { oneLine, plural, sentences } from '../../util/text.ts';
import { refusedOf } from '../turn/content-refusal.ts';
import { refusalNote } from '../turn/refusal-words.ts';
import { delays } from './delays.ts';
import type { ChannelNow, WhyFacts } from './facts.ts';
import { lastFailure } from './model-failures.ts';
import { withoutRecord, withoutTurn } from './no-turn.ts';
import { undone } from './undone.ts';
import { askedFor, durationText, stateOf, withoutStop } from './words.ts';

/** Characters of a failure's sentence, in which the server's words are a code span that must not be cut open. */
const LONGEST_FAILURE = 900;

/** A few sentences that say why something happened, or did not; what kept the person from their answer comes first. */
export function causeOf(facts: WhyFacts): string {
  const { message, turn } = facts;
  if (message === undefined && turn === undefined) return withoutRecord(facts);
  const early = message === undefined ? null : withoutTurn(facts);
  if (early !== null) return early;
  if (turn === undefined) return 'Of its turn nothing is kept any more.';
  if (turn.state === 'running' || turn.state === 'stopping') return running(facts);
  const undelivered = facts.replies.find(isUndelivered);
  if (undelivered !== undefined) return notArrived(undelivered, facts.channel);
  const about = circumstances(facts);
  const began = beganBy(message);
  return turn.outcome === 'answered' && about.length > 0
    ? sentences(began, ...about)
    : sentences(began, ended(facts), ...about);
}

/** What began a turn that no person did. */
function beganBy(message: MessageLife | undefined): string {
  if (message === undefined || message.origin === 'user' || message.origin === 'system') return '';
  // Older rows name their job alone.
  const { job, [FROM]: from = typeof job === 'string' ? `the job ${job}` : null } = message.metadata;
  if (typeof from !== 'string') return '';
  return `${from.replace(/^./u, (letter) => letter.toUpperCase())} began it.`;
}

function running({ turn, questions, entries, waitsFor, now }: WhyFacts): string {
  const open = questions.find(({ state }) => state === 'waiting');
  if (open !== undefined) return `It waits for an answer to the question about ${askedFor(open)}.`;
  if (turn?.state === 'stopping') return 'It is being stopped.';
  const since = durationText(now - (turn?.startedAt ?? now));
  if (waitsFor === 'place')
    return `It waits for a free place for ${since}: other conversations are being answered first.`;
  return `I am still working on it, for ${since}: ${doing(entries)}.`;
}

function doing(entries: readonly TapeEntry[]): string {
  const last = entries.findLast((entry) => entry.kind === 'intent' || entry.kind === 'message');
  if (last === undefined) return 'it is being prepared';
  if (last.kind === 'intent') return `${last.name} runs`;
  return last.role === 'assistant' ? 'its tools run' : 'the model is being asked';
}

function isUndelivered({ kind, state }: ReplyLife): boolean {
  return (kind === 'answer' || kind === 'part') && state !== 'delivered' && state !== 'streaming';
}

function notArrived({ state, reason, attempts }: ReplyLife, channel: ChannelNow | undefined): string {
  const why = reason === null ? '' : `: ${withoutStop(reason)}`;
  if (state === 'dead') return `The answer was written but did not arrive${why}.`;
  if (state === 'expired') return `The answer was written but could not be sent in time${why}.`;
  const isDown = channel !== undefined && channel.state !== 'running';
  const now = isDown ? ` The channel ${channel.name} is ${stateOf(channel)} now.` : '';
  const tries = attempts === 0 ? '' : `, after ${plural(attempts, 'attempt')}`;
  return `The answer is written and waits to be sent${tries}${why}.${now}`;
}

function ended(facts: WhyFacts): string {
  const { turn, entries } = facts;
  const end = entries.findLast((entry) => entry.kind === 'turn-end');
  switch (turn?.outcome) {
    case 'stopped':
      return stopped(facts);
    case 'silent':
      return 'I chose to say nothing.';
    case 'command':
      return facts.message?.reason ?? 'It was a command, and its reply is all that it does.';
    case 'failed':
      return turn.state === 'dead'
        ? 'I gave up on it: the process ended each time that I worked on it.'
        : sentences('I could not answer it.', oneLine(end?.answer ?? lastFailure(entries) ?? '', LONGEST_FAILURE));
    default:
      return end?.answer.trim() === '' ? 'It was worked on, and there was nothing to say.' : 'It was answered.';
  }
}

/** What ended the turn: the newest message that came while it ran and was no part of it. */
function stopped({ cameDuring }: WhyFacts): string {
  const by = cameDuring.find(({ reason, text }) => reason === 'stop' || /^\/new\b/u.test(text)) ?? cameDuring[0];
  if (by === undefined) return 'It was stopped.';
  if (by.reason === 'stop') return 'It was stopped: /stop was sent.';
  return /^\/new\b/u.test(by.text) ? 'It was stopped: /new was sent.' : 'It was stopped, because a newer message came.';
}

/** What made the answer late, or other than one would expect; what weighs most comes first. */
function circumstances(facts: WhyFacts): readonly string[] {
  const { message, others, turn, entries, wasSummarized } = facts;
  const isAnswered = turn?.outcome === 'answered';
  const isJoined = message !== undefined && turn !== undefined && turn.startedAt < message.receivedAt;
  const trim = entries.findLast((entry) => entry.kind === 'trim');
  return [
    ...undone(facts),
    ...edited(facts),
    refusedContent(entries, isAnswered),
    ...(isAnswered ? delays(facts) : []),
    isJoined ? 'It came while I was already working, and joined that turn.' : '',
    others.length > 0 ? `${plural(others.length, 'other message')} had the same answer.` : '',
    trim === undefined
      ? ''
      : trim.dropUpTo === null
        ? 'The conversation had become too long for the model, so long results of tools in it were left out.'
        : 'The conversation had become too long for the model, so its oldest part was left out.',
    wasSummarized
      ? 'Before it, the older part of the conversation was replaced by a summary, so I no longer had it word for word.'
      : '',
  ].filter((text) => text !== '');
}

/** What a provider refused in the turn, which `/why` tells only in the reader's own chat; '' for nothing. */
function refusedContent(entries: WhyFacts['entries'], isAnswered: boolean): string {
  const refused = refusedOf(entries);
  if (refused === undefined) return refusalNote(entries, { named: true });
  const own = new Set(
    entries.flatMap((entry) => (entry.kind === 'message' && entry.role === 'user' ? [entry.id] : [])),
  );
  const isOwn = refused.parts.some(({ entry, what }) => what === 'message' && own.has(entry));
  if (isAnswered && !isOwn) return refusalNote(entries, { named: true });
  return `${refused.model} refused it, so it is left out of later requests. You still see it here.`;
}

/** What became of the edits of the message. */
function edited({ message, edits }: WhyFacts): readonly string[] {
  const newest = edits.at(-1);
  if (newest === undefined || message === undefined) return [];
  if (newest.reason === 'edit') return ['It was edited before I read it, so the answer is to the new words.'];
  if (newest.state === 'accepted') return ['It was edited after I had read it, and the new words wait for their turn.'];
  if (newest.turn === message.turn) return ['It was edited while I worked on it, and I read the new words, too.'];
  return ['It was edited after I had read it; the new words have an answer of their own.'];
}

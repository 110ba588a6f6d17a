import { sentences } from '../../util/text.ts';
import { PASSED_OVER_KEPT_MS } from '../../journal/channel-log.ts';
import type { WhyFacts } from './facts.ts';
import { durationText, stateOf, thenText } from './words.ts';

/** The words for a message of which nothing is known, or that the assistant itself sent without a turn. */
export function withoutRecord(facts: WhyFacts): string {
  const { channel, chatType, sent, wasReceived, passedOver, channelThen } = facts;
  if (sent !== null) {
    if (sent.from !== null)
      return `It came from ${sent.from}, which sends its text as it is when it is due; no model was asked.`;
    return sent.text === ''
      ? 'It is a message of mine, but what it was about is not kept any more.'
      : 'It is a notice of mine, and no answer to a message.';
  }
  if (wasReceived) return 'I received it, but I keep no record of it any more: records are deleted after 90 days.';
  if (passedOver !== undefined) return `I saw it and did not answer: ${passedOver}.`;
  const name = channel?.name ?? 'the channel';
  return sentences(
    'I never received it.',
    chatType === 'direct' || wouldBeRecorded(facts)
      ? ''
      : 'In groups I take only what mentions me or replies to me, from people who are allowed.',
    channelThen === undefined ? '' : `When it was sent, ${thenText(name, channelThen)}.`,
    channel === undefined ? '' : `The channel ${name} is ${stateOf(channel)} now.`,
  );
}

/** Whether there would be a record if a channel had seen the message and not taken it. */
function wouldBeRecorded({ channelThen, unknownAt = 0, now }: WhyFacts): boolean {
  return channelThen !== undefined && now - unknownAt < PASSED_OVER_KEPT_MS;
}

/** Why a message has no turn of its own; null: it has one. */
export function withoutTurn({ message, turn, busyWith, waitsFor, now }: WhyFacts): string | null {
  const { state, reason } = message ?? {};
  if (state === 'refused') return refused(reason ?? null);
  if (reason === 'stop') return 'It was the request to stop, and it was carried out when it came.';
  if (reason === 'answer') return 'It was taken as the answer to a question.';
  if (reason === 'edit') return 'It changed a message that had not been answered yet, so that one has the answer.';
  if (reason === 'withdrawn') return 'It was withdrawn before its turn came.';
  if (state === 'accepted' && turn === undefined) {
    const since = durationText(now - (message?.receivedAt ?? now));
    if (busyWith !== undefined) return `It waits for ${since}: an earlier turn of this conversation is still running.`;
    if (waitsFor === 'place') return `It waits for ${since}: other conversations are being answered first.`;
    if (waitsFor === 'more') return `It waits for ${since}, because more of it may follow at once.`;
    return `It waits for ${since}; its turn has not begun.`;
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

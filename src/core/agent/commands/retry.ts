import type { InboundMessage } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import type { ClosedTurn } from '../../journal/turns.ts';
import { cut, oneLine } from '../../util/text.ts';
import type { ChatCommand } from './command.ts';

/** How long ago a message may have failed that is found by its words, ms. */
const FOUND_MS = 7 * 24 * 3_600_000;
const TOO_OLD = 'That message was run again already, or it is too old to run again: please send it once more.';
const NOT_YOURS = 'That is not your message: only its sender or the owner can run it again.';
const MOST_NAMED = 5;
/** Characters by which a message is quoted. */
const QUOTED = 40;

export const retryCommand = ({ journal: { turns }, clock, plugins }: App): ChatCommand => ({
  name: 'retry',
  description:
    'run your last message again if it failed or was stopped; `/retry words`, or a reply, picks an earlier one',
  role: 'guest',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async ({ message, args }) => {
    const { sessionKey, replyTo } = message;
    const mine = (turn: ClosedTurn | undefined): turn is ClosedTurn => turn !== undefined && isFor(message, turn);
    const failed = turns.unanswered(sessionKey, clock.now() - FOUND_MS).filter(mine);
    if (replyTo !== undefined) {
      const meant = turns.ofMessage(message, replyTo.externalId);
      if (meant !== undefined) return mine(meant) ? again(meant, 'That message') : NOT_YOURS;
    }
    if (args !== '') {
      const meant = failed.find((turn) => isAbout(turn, args));
      if (meant !== undefined) return again(meant, 'That message');
      return `No message that failed begins with “${oneLine(args, QUOTED)}”.${offer(failed)}`;
    }
    const newest = turns.last(sessionKey);
    const last = mine(newest) ? newest : failed[0];
    const others = plugins.each('retries').flatMap(([, retries]) => retries(message).map((sentence) => ` ${sentence}`));
    if (last === undefined) return `There is no message to run again.${others.join('')}`;
    const answer = again(last, 'Your last message');
    return typeof answer === 'string' ? `${answer}${others.join('')}${offer(failed)}` : answer;
  },
});

/** The command that runs these messages again, for a notice about them. */
export function retryWords(texts: readonly string[]): string {
  return `/retry ${opening(texts[0] ?? '')}`.trim();
}

/** Whether this person may run a turn again: the owner any, others their own, because it then counts as theirs. */
function isFor({ role, sender }: InboundMessage, { messages }: ClosedTurn): boolean {
  return role === 'owner' || messages.every((message) => message.sender.id === sender.id);
}

function again(turn: ClosedTurn, which: string): string | { readonly rerun: ClosedTurn } {
  if (turn.outcome !== 'failed' && turn.outcome !== 'stopped') {
    return `${which} was answered, so I do not run it again. Send it once more if you want another answer.`;
  }
  return turn.messages.length === 0 ? TOO_OLD : { rerun: turn };
}

/** Lists the commands for failed messages that can be run again. */
function offer(turns: readonly ClosedTurn[]): string {
  const failed = turns.filter(({ outcome }) => outcome === 'failed').slice(0, MOST_NAMED);
  if (failed.length === 0) return '';
  const lines = failed.map(
    ({ messages }) => `- \`${retryWords(messages.map(({ text }) => text)).replaceAll('`', "'")}\``,
  );
  return ` Some earlier messages failed. To run one of them again:\n${lines.join('\n')}`;
}

function isAbout({ messages }: ClosedTurn, words: string): boolean {
  const wanted = plain(words);
  return wanted !== '' && messages.some(({ text }) => plain(text).startsWith(wanted));
}

/** The first words of a message, cut between words if possible. */
function opening(text: string): string {
  const flat = text.replace(/\s+/gu, ' ').trim();
  if (flat.length <= QUOTED) return flat;
  const begun = cut(flat, QUOTED);
  return begun.includes(' ') ? begun.slice(0, begun.lastIndexOf(' ')) : begun;
}

/** A text for comparing, without quotes, formatting and case. */
function plain(text: string): string {
  return text
    .replace(/[“”"'`…]/gu, '')
    .replace(/\s+/gu, ' ')
    .trim()
    .toLowerCase();
}

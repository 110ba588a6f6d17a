import type { ChannelThen } from '../../journal/channel-log.ts';
import type { QuestionLife } from '../../journal/lives.ts';
import { oneLine } from '../../util/text.ts';
import type { ChannelNow } from './facts.ts';

/** Characters of a reason in a sentence. */
export const LONGEST_REASON = 300;
const LONGEST_NAME = 100;

/** What a question was about: the command line or the like, else its title; without both, as for a guest, only that it was one. */
export function askedFor({ title, detail }: Pick<QuestionLife, 'title' | 'detail'>): string {
  const about = oneLine(detail === '' ? title : detail.replaceAll('`', ''), LONGEST_NAME);
  return about === '' ? 'something that needs a yes' : `“${about}”`;
}

export function stateOf({ state, detail }: ChannelNow): string {
  return detail === undefined ? state : `${state} (${oneLine(detail, LONGEST_REASON)})`;
}

/** What a channel was at some time, as the end of a sentence. */
export function thenText(name: string, { state, detail }: Pick<ChannelThen, 'state' | 'detail'>): string {
  if (state === 'stopped') return 'I was not running';
  if (state === 'lost') return 'I was not running, or about to end without warning';
  return `the channel ${name} was ${stateOf({ name, state, detail: detail ?? undefined })}`;
}

/** `45 s`, `3 min` or `5 h`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** Why a call was refused or failed, without the words in front that a sentence about it says already. */
export function problemText(problem: string, limit: number): string {
  return oneLine(problem.replace(/^(?:Refused|Not done): /u, ''), limit);
}

/** A sentence without the full stop at its end. */
export function withoutStop(text: string): string {
  return text.replace(/[.]$/u, '');
}

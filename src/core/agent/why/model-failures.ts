import type { CallRecord, TapeEntry } from '../../session/entry.ts';
import { turnOf, type TapeTurn } from '../../session/turns.ts';
import { literal, oneLine } from '../../util/text.ts';
import type { Delay } from './facts.ts';
import { durationText, LONGEST_REASON, withoutStop } from './words.ts';

type Attempt = CallRecord['attempts'][number];
type Failed = Attempt & { readonly failed: NonNullable<Attempt['failed']> };

/** What a provider did, by the kind of its error. Of other kinds its own words are told. */
const WORDS: Readonly<Record<string, string>> = {
  'rate-limit': 'allowed no more requests for the moment',
  overloaded: 'was overloaded or down',
  timeout: 'did not answer in time',
  network: 'could not be reached, or broke off',
  auth: 'refused the key',
  quota: 'had no credit left',
  'context-overflow': 'found the conversation too long',
  'request-too-large': 'found the request too large',
  refusal: 'declined because of its content rules',
  malformed: 'sent an answer that could not be read',
};

/** Why another model answered than the one of the turn, or why it had to be asked more than once; none: neither was so. */
export function modelDelays(entries: readonly TapeEntry[]): readonly Delay[] {
  const turn = turnOf(entries);
  const answered = turn.end?.model ?? 'Another model';
  const failed = failedIn(turn);
  const ms = failed.reduce((sum, { failed: { waitMs = 0 } }) => sum + waitMs, 0);
  const others = failed.filter((attempt) => nameOf(attempt) !== answered);
  const last = others.at(-1);
  if (last !== undefined) {
    const times = others.filter((one) => nameOf(one) === nameOf(last)).length;
    const how = times > 1 ? `failed ${times} times` : 'failed';
    return [{ ms, text: `${answered} answered, because ${nameOf(last)} ${how}: ${reasonOf(last)}.` }];
  }
  const passedOver = turn.notes.findLast(({ call }) => call.passedOver !== undefined)?.call.passedOver;
  if (passedOver !== undefined) {
    return [{ ms: 0, text: `${answered} answered, because ${passedOver} had failed shortly before and was left out.` }];
  }
  const same = failed.at(-1);
  if (same === undefined) return [];
  const again = failed.length > 1 ? ` ${failed.length} times` : '';
  const waited =
    ms === 0 ? '' : failed.length > 1 ? `, with ${durationText(ms)} of waiting` : ` after ${durationText(ms)}`;
  return [{ ms, text: `${answered} had to be asked again${again}${waited}, because ${reasonOf(same)}.` }];
}

/** The newest attempt of a model call that failed, as a sentence; null: none did. */
export function lastFailure(entries: readonly TapeEntry[]): string | null {
  const last = failedIn(turnOf(entries)).at(-1);
  return last === undefined ? null : `${nameOf(last)} failed: ${reasonOf(last)}${wordsOf(last)}.`;
}

/** How long the model calls of a turn waited for a free place, ms. */
export function placeWait(entries: readonly TapeEntry[]): number {
  return turnOf(entries).notes.reduce((sum, { call: { placeMs = 0 } }) => sum + placeMs, 0);
}

function failedIn({ notes }: TapeTurn): readonly Failed[] {
  return notes.flatMap(({ call }) => call.attempts).filter(isFailed);
}

function isFailed(attempt: Attempt): attempt is Failed {
  return attempt.failed !== undefined;
}

function nameOf({ provider, model }: Attempt): string {
  return `${provider}/${model}`;
}

function reasonOf({ provider, failed: { kind, status, reason, said } }: Failed): string {
  const code = status === undefined ? '' : ` (${status})`;
  if (kind === 'bad-request' && said !== undefined) return `${provider} did not accept the request${code}`;
  const words = WORDS[kind];
  return words === undefined ? `${withoutStop(oneLine(reason, LONGEST_REASON))}${code}` : `${provider} ${words}${code}`;
}

/** The server's own words. */
function wordsOf({ failed: { said } }: Failed): string {
  return said === undefined ? '' : `: ${literal(oneLine(said, LONGEST_REASON))}`;
}

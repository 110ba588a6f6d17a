import { deadline, sleep, type Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/log.ts';
import type { Random } from '../../util/random.ts';
import { backoffMs } from '../../util/backoff.ts';
import { callFailure, isTokenRefused } from './errors.ts';
import { updateHead } from './update.ts';

const POLL_SECONDS = 30;
const POLL_DEADLINE_MS = 40_000;
/** An empty answer that comes sooner than this was no long poll; the next request waits for this time. */
const HASTY_MS = 500;
const RETRY = { firstMs: 1_000, maxMs: 30_000 };
const CONFLICT_WAIT_MS = 30_000;

export interface PollPorts {
  /** Waits up to `timeout` seconds for updates from `offset` on. */
  getUpdates(query: { offset: number; timeout: number }, signal: AbortSignal): Promise<unknown>;
  /** Reads a batch and writes it to the journal; rejects only when the polling ends before that. */
  take(updates: readonly unknown[]): Promise<void>;
  /** Sets the present trouble, one sentence; undefined after an answer that could be read. */
  report(trouble: string | undefined): void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Fetches updates until `signal` aborts (`stopped`) or Telegram refuses the token. The offset acknowledges updates to
 * Telegram, so it moves only after `take` resolved: a batch that was not taken is sent again.
 */
export async function pollUpdates(ports: PollPorts, signal: AbortSignal): Promise<'stopped' | 'token-refused'> {
  let offset = 0;
  let failures = 0;
  let conflictReported = false;
  while (!signal.aborted) {
    let wait: number;
    try {
      const began = ports.clock.monotonic();
      const batch = readBatch(await fetchUpdates(offset, ports, signal));
      ports.report(undefined);
      failures = 0;
      conflictReported = false;
      if (batch.updates.length > 0) {
        await ports.take(batch.updates);
        offset = batch.last + 1;
        continue;
      }
      wait = ports.clock.monotonic() - began < HASTY_MS ? HASTY_MS : 0;
    } catch (error) {
      if (signal.aborted) break;
      failures += 1;
      const failure = callFailure(error);
      if (isTokenRefused(failure)) return 'token-refused';
      const conflict = failure.code === 409;
      wait = conflict ? CONFLICT_WAIT_MS : (failure.retryAfterMs ?? backoffMs(failures, RETRY, ports.random));
      const trouble = conflict ? conflictSentence(failure.reason) : failure.reason;
      ports.report(trouble);
      if (!conflict || !conflictReported)
        ports.log.warn('telegram: getUpdates failed', { reason: trouble, waitMs: wait });
      conflictReported ||= conflict;
    }
    if (wait > 0) await sleep(ports.clock, wait, signal).catch(() => {});
  }
  return 'stopped';
}

async function fetchUpdates(offset: number, ports: PollPorts, signal: AbortSignal): Promise<unknown> {
  using limit = deadline(ports.clock, POLL_DEADLINE_MS, 'Fetching updates');
  return await ports.getUpdates({ offset, timeout: POLL_SECONDS }, AbortSignal.any([signal, limit.signal]));
}

function readBatch(answer: unknown): { readonly updates: readonly unknown[]; readonly last: number } {
  if (!Array.isArray(answer)) throw new TypeError('the answer is not a list of updates');
  const found: { readonly id: number; readonly update: unknown }[] = [];
  for (const update of answer) {
    const head = updateHead.safeParse(update);
    if (head.success) found.push({ id: head.data.update_id, update });
  }
  if (found.length === 0 && answer.length > 0) throw new TypeError('the answer holds no update with an id');
  // A proxy may have changed the order.
  found.sort((a, b) => a.id - b.id);
  return { updates: found.map(({ update }) => update), last: found.at(-1)?.id ?? -1 };
}

function conflictSentence(reason: string): string {
  return `Another program fetches this bot's messages: stop it, or give this assistant a bot of its own. (${reason})`;
}

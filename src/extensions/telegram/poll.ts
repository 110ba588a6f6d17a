import { backoffMs } from '../../core/api-channels.ts';
import { deadline, sleep, type Clock, type Logger, type Random } from '../../core/api.ts';
import { callFailure, isTokenRefused } from './errors.ts';
import { updateHead } from './update.ts';

const POLL_SECONDS = 30;
const POLL_DEADLINE_MS = 40_000;
/** An empty answer that comes sooner than this was no long poll; the next request waits for this time. */
const HASTY_MS = 500;
const RETRY = { firstMs: 1_000, maxMs: 30_000 };
const CONFLICT_WAIT_MS = 30_000;
/** Two programs that poll interrupt each other again and again; between two conflicts this much time passes at most. */
const CONFLICT_PAUSE_MS = 120_000;
/** A conflict that lasts this long isn't just a restart, so the owner is told. */
const LONG_CONFLICT_MS = 300_000;

export interface PollPorts {
  /** Waits up to `timeout` seconds for updates from `offset` on. */
  getUpdates(query: { offset: number; timeout: number }, signal: AbortSignal): Promise<unknown>;
  /** Reads a batch and writes it to the journal; rejects only when the polling ends before that. */
  take(updates: readonly unknown[]): Promise<void>;
  /** Sets the present trouble, one sentence; undefined after an answer that could be read. */
  report(trouble: string | undefined, code?: 'conflict'): void;
  /** Another program has been polling for this bot for minutes; called once for each such time. */
  tellConflict(sentence: string): void;
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
  const conflict = new Conflict(ports);
  while (!signal.aborted) {
    let wait: number;
    try {
      const began = ports.clock.monotonic();
      const batch = readBatch(await fetchUpdates(offset, ports, signal));
      ports.report(conflict.sentence, conflict.code);
      failures = 0;
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
      const isConflict = failure.code === 409;
      const isNew = !isConflict || conflict.met(failure.reason);
      wait = isConflict ? CONFLICT_WAIT_MS : (failure.retryAfterMs ?? backoffMs(failures, RETRY, ports.random));
      const trouble = conflict.sentence ?? failure.reason;
      ports.report(trouble, conflict.code);
      if (isNew) ports.log.warn('telegram: getUpdates failed', { reason: trouble, waitMs: wait });
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

/** Another program polls for the same bot. In between, requests of both succeed. */
class Conflict {
  readonly #ports: Pick<PollPorts, 'clock' | 'tellConflict'>;
  #now: { readonly sentence: string; readonly since: number; last: number; told: boolean } | undefined;

  constructor(ports: Pick<PollPorts, 'clock' | 'tellConflict'>) {
    this.#ports = ports;
  }

  /** Undefined when there is none. */
  get sentence(): string | undefined {
    const { clock } = this.#ports;
    if (this.#now !== undefined && clock.monotonic() - this.#now.last > CONFLICT_PAUSE_MS) this.#now = undefined;
    return this.#now?.sentence;
  }

  get code(): 'conflict' | undefined {
    return this.sentence === undefined ? undefined : 'conflict';
  }

  /** Notes that Telegram ended a request for this reason. True: it is the first time. */
  met(reason: string): boolean {
    const isNew = this.sentence === undefined;
    const at = this.#ports.clock.monotonic();
    const sentence = `Another program fetches this bot's messages: stop it, or give this assistant a bot of its own. (${reason})`;
    this.#now ??= { sentence, since: at, last: at, told: false };
    this.#now.last = at;
    if (!this.#now.told && at - this.#now.since >= LONG_CONFLICT_MS) {
      this.#now.told = true;
      this.#ports.tellConflict(sentence);
    }
    return isNew;
  }
}

import { createHash } from 'node:crypto';
import type { AcceptResult, Cursor, InboundDraft } from '../../bus/messages.ts';
import { classifyFailure, isStorageTrouble } from '../../storage/storage-failure.ts';
import type { StorageHealth } from '../../storage/storage-health.ts';
import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { oneLine } from '../../util/text.ts';

/** A part of a batch that failed as a whole is tried this often before it is halved, a single update before it is set aside. */
const HALF_TRIES = 1;
const SINGLE_TRIES = 2;
/** Characters. */
const LONGEST_REASON = 200;
const LONGEST_RAW = 256 * 1024;
/** The owner is told at most once in this time that something of a channel was set aside, and so much of it is kept. */
const NOTICE_EVERY_MS = 3_600_000;
const MOST_KEPT = 200;

/** How far a place was read; for platforms that cannot be told what was received. */
export type ReadUpTo = Omit<Cursor, 'channel'>;

/** One update of a platform: as it came, with what is to be answered of it, or why it cannot be read. */
export type Received =
  | { readonly raw: unknown; readonly draft: InboundDraft }
  | { readonly raw: unknown; readonly failure: unknown };

/** Reads one update, once. Null: nothing is to be answered. A reader that throws spoils its own update alone. */
export function receive(raw: unknown, read: () => InboundDraft | null): Received | null {
  try {
    const draft = read();
    return draft === null ? null : { raw, draft };
  } catch (failure) {
    return { raw, failure };
  }
}

export interface WriteOptions {
  /** How far places were read with this, in the same transaction. */
  readonly cursors?: readonly ReadUpTo[];
  /** Ends the waiting: the failure is thrown, and nothing of it may be acknowledged. */
  readonly signal: AbortSignal;
  /** False when too much waits already: the failure is thrown. @default always true */
  readonly mayWait?: () => boolean;
}

export interface InboundWriterPorts {
  readonly channel: string;
  readonly accept: (drafts: readonly InboundDraft[], cursors: readonly ReadUpTo[]) => Promise<readonly AcceptResult[]>;
  readonly storage: Pick<StorageHealth, 'untilWritten'>;
  /** Keeps a text without secrets in the quarantine under this name; returns its path. */
  readonly keep: (name: string, text: string) => Promise<string>;
  /** Tells the owner once for each id. */
  readonly tellOwner: (id: string, text: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Writes down what a platform handed over. Only the commit is retried: what was read stays read. While the disk takes
 * nothing it waits without limit. One update that can never be read or written is kept in the quarantine, the owner is
 * told, and the channel continues with the others.
 */
export class InboundWriter {
  readonly #ports: InboundWriterPorts;
  #waiting = 0;
  #trouble: string | undefined;
  #kept = { since: -Infinity, count: 0 };

  constructor(ports: InboundWriterPorts) {
    this.#ports = ports;
  }

  /** Why messages of the channel wait to be written, one sentence; undefined: none waits. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Resolves when each is on disk or in the quarantine: the platform may be told. */
  async write(received: readonly Received[], options: WriteOptions): Promise<void> {
    for (const one of received) if ('failure' in one) await this.#setAside(one.raw, one.failure, options);
    const readable = received.flatMap((one) => ('draft' in one ? [one] : []));
    if (readable.length === 0 && (options.cursors ?? []).length === 0) return;
    await this.#commit(readable, options);
  }

  async #commit(
    received: readonly Extract<Received, { draft: InboundDraft }>[],
    options: WriteOptions,
    tries?: number,
  ): Promise<void> {
    const drafts = received.map(({ draft }) => draft);
    try {
      await this.#untilWritten(() => this.#ports.accept(drafts, options.cursors ?? []), options, tries);
    } catch (error) {
      // What stands in the way of all is not the fault of one: the platform keeps it.
      if (isLeft(error, options)) throw error;
      const { cursors: _, ...rest } = options;
      const [one] = received;
      if (one === undefined) throw error;
      if (received.length === 1) {
        await this.#setAside(one.raw, error, options, one.draft);
        // How far was read is written all the same: what was set aside is not fetched again.
        if ((options.cursors ?? []).length > 0) await this.#commit([], options, SINGLE_TRIES);
        return;
      }
      const middle = Math.ceil(received.length / 2);
      const triesOf = (half: readonly unknown[]): number => (half.length === 1 ? SINGLE_TRIES : HALF_TRIES);
      const [first, second] = [received.slice(0, middle), received.slice(middle)];
      await this.#commit(first, rest, triesOf(first));
      await this.#commit(second, options, triesOf(second));
    }
  }

  /** Keeps an update that can never be taken. Never rejects but for the disk, see `WriteOptions.signal`. */
  async #setAside(raw: unknown, failure: unknown, options: WriteOptions, draft?: InboundDraft): Promise<void> {
    const { channel, log } = this.#ports;
    const reason = oneLine(errorMessage(failure), LONGEST_REASON);
    const text = rawText({ channel, reason, update: raw });
    const name = `${channel}-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.json`;
    let path: string | undefined;
    try {
      if (this.#mayKeep()) path = await this.#untilWritten(() => this.#ports.keep(name, text), options);
      log.error(`${channel}: one update was set aside`, { reason, kept: path ?? 'no: too many in this hour' });
      await this.#tell(draft, reason, path, options);
    } catch (error) {
      if (isLeft(error, options)) throw error;
      log.error(`${channel}: one update was left out and not kept`, { reason, why: errorMessage(error) });
    }
  }

  async #tell(
    draft: InboundDraft | undefined,
    reason: string,
    path: string | undefined,
    options: WriteOptions,
  ): Promise<void> {
    const { channel, clock, tellOwner } = this.#ports;
    const hour = Math.floor(clock.now() / NOTICE_EVERY_MS);
    const where = draft === undefined ? '' : ` in chat ${draft.chatId}, written by ${draft.sender.id},`;
    const kept = path === undefined ? '' : ` It is kept in ${path}.`;
    const text = `A message on ${channel}${where} could not be taken in: ${reason}.${kept} All other messages go on as usual. Ask for it to be sent again in other words.`;
    await this.#untilWritten(() => tellOwner(`set-aside:${channel}:${hour}`, text), options);
  }

  #mayKeep(): boolean {
    const now = this.#ports.clock.monotonic();
    if (now - this.#kept.since >= NOTICE_EVERY_MS) this.#kept = { since: now, count: 0 };
    this.#kept.count += 1;
    return this.#kept.count <= MOST_KEPT;
  }

  async #untilWritten<T>(write: () => Promise<T>, { signal, mayWait }: WriteOptions, tries?: number): Promise<T> {
    const { storage, channel } = this.#ports;
    const noted = async (): Promise<T> => {
      try {
        return await write();
      } catch (error) {
        const what = isStorageTrouble(classifyFailure(error)) ? 'wait for the disk' : 'cannot be written down yet';
        this.#trouble = `Messages ${what}: ${oneLine(errorMessage(error), LONGEST_REASON)}`;
        throw error;
      }
    };
    this.#waiting += 1;
    try {
      return await storage.untilWritten(noted, {
        signal,
        what: `${channel}: inbound`,
        ...(mayWait === undefined ? {} : { mayWait }),
        ...(tries === undefined ? {} : { tries }),
      });
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#trouble = undefined;
    }
  }
}

/** The waiting was ended, or could not begin: nothing is known about the update itself. */
function isLeft(error: unknown, { signal, mayWait }: WriteOptions): boolean {
  return signal.aborted || mayWait?.() === false || isStorageTrouble(classifyFailure(error));
}

function rawText(facts: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(facts, null, 1).slice(0, LONGEST_RAW)}\n`;
}

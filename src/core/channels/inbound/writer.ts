import { createHash } from 'node:crypto';
import type { AcceptResult, Cursor, InboundDraft } from '../../bus/messages.ts';
import { classifyFailure, isStorageTrouble } from '../../storage/storage-failure.ts';
import type { StorageHealth } from '../../storage/storage-health.ts';
import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { oneLine } from '../../util/text.ts';

/** After a batch failed, its halves are tried this many times before they are halved again; a single update before it is set aside. */
const HALF_TRIES = 1;
const SINGLE_TRIES = 2;
/** Caps in characters: of a reason in a log line, of the kept JSON of an update. */
const LONGEST_REASON = 200;
const LONGEST_RAW = 256 * 1024;
/** In each such period the owner gets at most one notice for a channel, and at most `MOST_KEPT` updates are kept. */
const NOTICE_EVERY_MS = 3_600_000;
const MOST_KEPT = 200;

/** How far a chat was read; for platforms to which received messages cannot be acknowledged. */
export type ReadUpTo = Omit<Cursor, 'channel'>;

/** One update as it came from the platform, with the message read from it or the error of reading it. */
export type Received =
  | { readonly raw: unknown; readonly draft: InboundDraft }
  | {
      readonly raw: unknown;
      readonly failure: unknown;
      /** Where it is known. */ readonly chatId?: string;
    };

/** Calls `read` for one update of a chat, where that is known. Null: the update has no message for the assistant. An error of `read` becomes `failure`. */
export function receive(raw: unknown, read: () => InboundDraft | null, chatId?: string): Received | null {
  try {
    const draft = read();
    return draft === null ? null : { raw, draft };
  } catch (failure) {
    return { raw, failure, chatId };
  }
}

export interface WriteOptions {
  /** Cursors to store in the same transaction. @default none */
  readonly cursors?: readonly ReadUpTo[];
  /** When it aborts, `write` rejects with the failure; then nothing may be acknowledged to the platform. */
  readonly signal: AbortSignal;
  /** False when too many messages wait already: `write` rejects with the failure. @default always true */
  readonly mayWait?: () => boolean;
}

export interface InboundWriterPorts {
  readonly channel: string;
  readonly accept: (drafts: readonly InboundDraft[], cursors: readonly ReadUpTo[]) => Promise<readonly AcceptResult[]>;
  readonly storage: Pick<StorageHealth, 'untilWritten'>;
  /** Writes a text, with secrets redacted, as a file of this name to the quarantine; returns its path. */
  readonly keep: (name: string, text: string) => Promise<string>;
  /** Sends the owner a notice, once for each id. */
  readonly tellOwner: (id: string, text: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Writes the messages of a channel to the journal. Only the commit is retried; an update is read once. While the disk takes
 * no writes it waits without limit. An update that can never be read or written goes to the quarantine, the owner gets a
 * notice, and the others are written.
 */
export class InboundWriter {
  readonly #ports: InboundWriterPorts;
  #waiting = 0;
  #trouble: string | undefined;
  #kept = { since: -Infinity, count: 0 };

  constructor(ports: InboundWriterPorts) {
    this.#ports = ports;
  }

  /** One sentence that says why messages of the channel wait to be written; undefined when none waits. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Resolves when each update is in the journal or in the quarantine; then it may be acknowledged to the platform. */
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
      // The disk or the end of the process is the reason, not one of the updates: none is acknowledged.
      if (isLeft(error, options)) throw error;
      const { cursors: _, ...rest } = options;
      const [one] = received;
      if (one === undefined) throw error;
      if (received.length === 1) {
        await this.#setAside(one.raw, error, options, one.draft);
        // The cursors are stored all the same, so that the update is not fetched again.
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

  /** Moves an update to the quarantine and tells the owner. Rejects only for the reasons of `isLeft`. */
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
    const text = `A message on ${channel}${where} could not be processed: ${reason}.${kept} Other messages are not affected. Ask the sender to send it again in other words.`;
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

/** Whether a write failed because of the disk, the signal or `mayWait`, and so not because of the update itself. */
function isLeft(error: unknown, { signal, mayWait }: WriteOptions): boolean {
  return signal.aborted || mayWait?.() === false || isStorageTrouble(classifyFailure(error));
}

function rawText(facts: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(facts, null, 1).slice(0, LONGEST_RAW)}\n`;
}

import type { ServerResponse } from 'node:http';

/** The kinds that a bot gets only when it names them. */
const ONLY_WHEN_NAMED = new Set(['chat_member', 'message_reaction', 'message_reaction_count']);

export interface Update {
  readonly update_id: number;
  readonly [kind: string]: unknown;
}

export type PollResult =
  | { readonly updates: readonly Update[] }
  | { readonly conflict: true }
  | { readonly gone: true };

export interface PollRequest {
  readonly offset: number;
  readonly limit: number;
  /** Seconds. */
  readonly timeout: number;
  readonly allowed: readonly string[] | undefined;
}

/** The server's queue of updates with the semantics of getUpdates; outlives every client. */
export class UpdateQueue {
  #waiting: Update[] = [];
  #repeats: Update[] = [];
  readonly #all = new Map<number, Update>();
  /** Gives each update of a batch its place, by the smallest number. @default by its id, as the real server has it */
  placeOf: (update: Update) => number = ({ update_id }) => update_id;
  #allowed: readonly string[] = [];
  #nextId = 1000;
  #wakePoll: (() => void) | undefined;
  #endPoll: (() => void) | undefined;

  /** Ids of the updates that no offset has confirmed. */
  get unconfirmed(): readonly number[] {
    return this.#waiting.map((update) => update.update_id);
  }

  /** Whether a long poll is open now. */
  get polling(): boolean {
    return this.#endPoll !== undefined;
  }

  /** Gives the update its id; it is dropped when the bot did not ask for its kind. */
  push(content: Readonly<Record<string, unknown>>): Update {
    const given = content['update_id'];
    const update: Update = { ...content, update_id: typeof given === 'number' ? given : this.#nextId };
    this.#nextId = Math.max(this.#nextId, update.update_id) + 1;
    this.#all.set(update.update_id, update);
    if (this.#wants(update)) this.#waiting.push(update);
    this.#wakePoll?.();
    return update;
  }

  /** Hands the update out once more, also when it was confirmed; `asNew`: under a new update id. */
  repeat(updateId: number, options: { readonly asNew?: boolean } = {}): Update {
    const update = this.#all.get(updateId);
    if (update === undefined) throw new Error(`there was no update ${updateId}`);
    if (options.asNew === true) {
      const { update_id: _, ...content } = update;
      return this.push(content);
    }
    this.#repeats.push(update);
    this.#wakePoll?.();
    return update;
  }

  /** One getUpdates: waits for updates, for its time-out, for the client to leave or for a newer poll. */
  async poll(request: PollRequest, response: ServerResponse): Promise<PollResult> {
    this.#endPoll?.();
    if (request.allowed !== undefined) this.#allowed = request.allowed;
    this.#confirm(request.offset);
    if (this.#waiting.length === 0 && this.#repeats.length === 0 && request.timeout > 0) {
      const ended = await this.#wait(request.timeout * 1000, response);
      if (ended === 'conflict') return { conflict: true };
      if (ended === 'gone') return { gone: true };
    }
    // Ascending, as the real server has it: a client moves its offset past the last.
    const due = [...this.#repeats, ...this.#waiting].sort((a, b) => a.update_id - b.update_id);
    const updates = due.slice(0, request.limit);
    this.#repeats = this.#repeats.filter((update) => !updates.includes(update));
    return { updates: updates.toSorted((a, b) => this.placeOf(a) - this.placeOf(b)) };
  }

  #confirm(offset: number): void {
    if (offset < 0) this.#waiting = this.#waiting.slice(offset);
    else this.#waiting = this.#waiting.filter((update) => update.update_id >= offset);
  }

  #wait(ms: number, response: ServerResponse): Promise<'woken' | 'conflict' | 'gone'> {
    return new Promise((resolve) => {
      if (response.destroyed) {
        resolve('gone');
        return;
      }
      const end = (how: 'woken' | 'conflict' | 'gone'): void => {
        clearTimeout(timer);
        response.off('close', gone);
        this.#wakePoll = undefined;
        this.#endPoll = undefined;
        resolve(how);
      };
      const gone = (): void => end('gone');
      const timer = setTimeout(() => end('woken'), ms);
      response.once('close', gone);
      this.#wakePoll = () => end('woken');
      this.#endPoll = () => end('conflict');
    });
  }

  #wants(update: Update): boolean {
    const kinds = Object.keys(update).filter((key) => key !== 'update_id');
    if (this.#allowed.length === 0) return !kinds.some((kind) => ONLY_WHEN_NAMED.has(kind));
    return kinds.some((kind) => this.#allowed.includes(kind));
  }
}

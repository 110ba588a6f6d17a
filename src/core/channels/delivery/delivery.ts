import type { OutboundMessage } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import type { Durability } from '../../storage/files.ts';
import { Wake } from '../../util/wake.ts';
import { classifyFailure } from '../../storage/storage-failure.ts';
import { raceAbort, sleep } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { OwnerNotices } from './notices.ts';
import { deliverNext, type LaneState, type Delivering, type Outlets } from './next-part.ts';

const TROUBLE_WAIT_MS = 1_000;
const NEVER_THREW: LaneState['thrown'] = { times: 0, reason: '' };

/** The messages that wait for one chat or thread. Holds ids only; the rows stay in the journal. */
interface Lane extends LaneState {
  readonly key: string;
  readonly channel: string;
  readonly chatId: string;
  /** Ids of notices and approvals, which are sent before `ordinary`. */
  readonly urgent: string[];
  readonly ordinary: string[];
  readonly wake: Wake;
  failures: number;
  readonly hasUnsyncedMark: boolean;
  thrown: LaneState['thrown'];
  /** Monotonic ms. Nothing is sent before this time, because the platform limited the rate. */
  pausedUntil: number;
  /** The lane was woken during a step, so a wait that the step asks for is out of date. */
  changed: boolean;
}

/**
 * Sends the messages of the outbox to the channels: in order within a chat, chats independent of each other. Each part is
 * marked in the journal before and after it is sent, so a new process continues where this one ended. In each chat at most
 * one mark is not durable, so after a power loss only the oldest waiting message can have been sent without a mark.
 */
export class Delivery {
  readonly #app: App;
  readonly #delivering: Delivering;
  readonly #lanes = new Map<string, Lane>();
  readonly #queued = new Set<string>();
  /** Lane key → the newest mark of the chat, while a power loss could undo it; kept also when the lane has ended. */
  readonly #unsynced = new Map<string, object>();
  readonly #workers = new Set<Promise<void>>();
  readonly #unknown = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #aborted = new AbortController();
  readonly #reachable: Disposable;
  readonly #notices: OwnerNotices;

  constructor(app: App, outlets: Outlets) {
    this.#app = app;
    const signals = { stopping: this.#stopping.signal, aborted: this.#aborted.signal };
    this.#notices = new OwnerNotices(app, outlets);
    this.#delivering = { app, outlets, ...signals, ended: () => this.#notices.tell() };
    this.#reachable = outlets.onReachable((channel, chatId) => this.#onReachable(channel, chatId));
  }

  /** The number of chats and threads with messages to send. */
  get busyChats(): number {
    return this.#lanes.size;
  }

  /** Begins to send, first what an earlier process left. */
  start(): void {
    this.#track(this.#consume());
    this.#notices.tell();
  }

  /** Sends nothing new. Sends in flight may end within `graceMs`, then they are aborted, and marked when they are sent again. */
  async drain(graceMs: number): Promise<void> {
    this.#stopping.abort();
    this.#reachable[Symbol.dispose]();
    this.#notices[Symbol.dispose]();
    using _ = this.#app.clock.timer(graceMs, () => this.#aborted.abort(), { keepAlive: true });
    while (this.#workers.size > 0) await Promise.all(this.#workers);
    await this.#notices.settled;
  }

  async #consume(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const messages = this.#app.bus.consumeOutbound()[Symbol.asyncIterator]();
        for (;;) {
          const next = await raceAbort(messages.next(), signal);
          if (next.done === true) return;
          this.#enqueue(next.value);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#app.log.error('delivery: journal not read', { reason: errorMessage(error) });
        await sleep(this.#app.clock, TROUBLE_WAIT_MS, signal).catch(() => {});
      }
    }
  }

  #enqueue(message: OutboundMessage): void {
    const { channel, chatId, threadId, id, kind } = message;
    if (this.#queued.has(id)) return;
    this.#warnIfUnknown(channel);
    this.#queued.add(id);
    const key = JSON.stringify([channel, chatId, threadId]);
    const unsynced = this.#unsynced;
    let lane = this.#lanes.get(key);
    const isNew = lane === undefined;
    lane ??= {
      key,
      channel,
      chatId,
      urgent: [],
      ordinary: [],
      wake: new Wake(),
      failures: 0,
      get hasUnsyncedMark() {
        return unsynced.has(key);
      },
      retryAt: new Map(),
      wallOffset: new Map(),
      thrown: NEVER_THREW,
      marked: (durability) => this.#marked(key, durability),
      pausedUntil: 0,
      changed: false,
    };
    lane.wallOffset.set(id, this.#app.clock.now() - this.#app.clock.monotonic());
    (kind === 'notice' || kind === 'approval' ? lane.urgent : lane.ordinary).push(id);
    if (isNew) {
      this.#lanes.set(key, lane);
      this.#track(this.#work(lane));
    } else {
      lane.wake.wake();
    }
  }

  #warnIfUnknown(channel: string): void {
    if (this.#unknown.has(channel) || this.#delivering.outlets.outlet(channel) !== 'unknown') return;
    this.#unknown.add(channel);
    this.#app.log.warn('delivery: messages wait for a channel that is not enabled', { channel });
  }

  async #work(lane: Lane): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const queue = lane.urgent.length > 0 ? lane.urgent : lane.ordinary;
      const id = queue[0];
      if (id === undefined) {
        this.#lanes.delete(lane.key);
        return;
      }
      const pause = lane.pausedUntil - this.#app.clock.monotonic();
      if (pause > 0) await this.#pause(lane, pause);
      else if (await this.#step(lane, id)) {
        queue.shift();
        lane.retryAt.delete(id);
        lane.wallOffset.delete(id);
        lane.thrown = NEVER_THREW;
        this.#queued.delete(id);
      }
    }
  }

  /** Does the next step of a message, then waits if the step says so. True when the message is done. */
  async #step(lane: Lane, id: string): Promise<boolean> {
    lane.changed = false;
    try {
      const step = await deliverNext(id, lane, this.#delivering);
      if (step.type !== 'wait') {
        lane.failures = 0;
        lane.thrown = NEVER_THREW;
        return step.type === 'finished';
      }
      if (step.why !== 'not-yet') lane.failures += 1;
      if (lane.changed) return false;
      if (step.why === 'throttled') lane.pausedUntil = this.#app.clock.monotonic() + step.ms;
      await this.#pause(lane, step.ms);
    } catch (error) {
      if (this.#stopping.signal.aborted) return false;
      this.#threw(lane, id, error);
      await this.#pause(lane, TROUBLE_WAIT_MS);
    }
    return false;
  }

  /** Counts an error of the program at the head message; trouble of the disk does not count. Logs each error once. */
  #threw(lane: Lane, id: string, error: unknown): void {
    const reason = errorMessage(error);
    if (lane.thrown.reason !== reason) this.#app.log.error('delivery: failed', { id, reason });
    const kind = classifyFailure(error);
    const counts = kind === 'bug' || kind === 'item';
    lane.thrown = { times: lane.thrown.times + (counts ? 1 : 0), reason };
  }

  /** Waits for `ms`, or until the lane is woken. */
  async #pause(lane: Lane, ms: number): Promise<void> {
    using _ = this.#app.clock.timer(ms, () => lane.wake.wake());
    await lane.wake.wait(this.#stopping.signal);
  }

  #marked(key: string, durability: Durability): void {
    if (durability === 'durable') {
      this.#unsynced.delete(key);
      return;
    }
    const mark = {};
    this.#unsynced.set(key, mark);
    this.#app.journal.outbox.settled().then(
      () => void (this.#unsynced.get(key) === mark && this.#unsynced.delete(key)),
      () => {},
    );
  }

  #onReachable(channel: string, chatId: string | undefined): void {
    if (chatId === undefined) {
      this.#wakeLanes(channel, undefined);
      this.#notices.tell();
    } else this.#track(this.#retryNow(channel, chatId));
  }

  async #retryNow(channel: string, chatId: string): Promise<void> {
    try {
      await this.#app.journal.outbox.retryNow(channel, chatId);
    } catch (error) {
      this.#app.log.error('delivery: journal not written', { reason: errorMessage(error) });
    }
    this.#wakeLanes(channel, chatId);
  }

  #wakeLanes(channel: string, chatId: string | undefined): void {
    for (const lane of this.#lanes.values()) {
      if (lane.channel !== channel || (chatId !== undefined && lane.chatId !== chatId)) continue;
      if (chatId !== undefined) {
        lane.pausedUntil = 0;
        lane.retryAt.clear();
      }
      lane.changed = true;
      lane.wake.wake();
    }
  }

  #track(work: Promise<void>): void {
    this.#workers.add(work);
    void work.finally(() => this.#workers.delete(work));
  }
}

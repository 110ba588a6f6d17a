import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageBus } from '../../src/core/bus/bus.ts';
import type { OutboundMessage } from '../../src/core/bus/messages.ts';
import type { Channel } from '../../src/core/channels/channel.ts';
import { Delivery } from '../../src/core/channels/delivery/delivery.ts';
import type { Outlets } from '../../src/core/channels/delivery/next-part.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom, type Random } from '../../src/core/util/random.ts';
import { appWith } from './app-with.ts';
import { storageHealth } from './healthy-storage.ts';
import { recordingLog } from './recording-log.ts';
import { ScriptedChannel } from './scripted-channel.ts';
import { settle, VirtualClock } from './virtual-clock.ts';

/** Random numbers without chance: waits get no jitter. */
export const steadyRandom: Random = { bytes: (length) => systemRandom.bytes(length), fraction: () => 0.5 };

/** Outlets that a test opens and shuts. */
export class TestOutlets implements Outlets {
  readonly channels = new Map<string, Channel>();
  readonly down = new Set<string>();
  readonly revocations: string[] = [];
  readonly #listeners = new Set<(channel: string, chatId: string | undefined) => void>();

  outlet(name: string): Channel | 'waiting' | 'unknown' {
    return this.down.has(name) ? 'waiting' : (this.channels.get(name) ?? 'unknown');
  }

  running(): readonly string[] {
    return [...this.channels.keys()].filter((name) => !this.down.has(name));
  }

  sending<T>(_: string, work: Promise<T>): Promise<T> {
    return work;
  }

  revoked(name: string): void {
    this.revocations.push(name);
    this.down.add(name);
  }

  onReachable(listener: (channel: string, chatId: string | undefined) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  tell(channel: string, chatId?: string): void {
    for (const listener of this.#listeners) listener(channel, chatId);
  }
}

/** Delivery over a real journal in a folder of its own, a scripted channel `test`, and virtual time. */
export class DeliveryWorld implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly outlets = new TestOutlets();
  readonly channel = new ScriptedChannel();
  readonly log = recordingLog();
  readonly #folder: string;
  /** Journals of processes that lost the power with the machine, open as they were. */
  readonly #cut: Journal[] = [];
  journal: Journal;
  bus: MessageBus;
  delivery: Delivery;
  #count = 0;

  private constructor(folder: string, clock: VirtualClock, journal: Journal) {
    this.#folder = folder;
    this.clock = clock;
    this.outlets.channels.set('test', this.channel);
    this.journal = journal;
    this.bus = this.#openBus();
    this.delivery = this.#openDelivery();
  }

  static async open(): Promise<DeliveryWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'delivery-'));
    const clock = new VirtualClock();
    return new DeliveryWorld(folder, clock, await openAt(folder, clock));
  }

  /** Queues a message and lets what follows from it happen. */
  async say(text: string, message: Partial<OutboundMessage> = {}): Promise<string> {
    this.#count += 1;
    const id = message.id ?? `m${this.#count}`;
    await this.bus.publishOutbound({
      id,
      channel: 'test',
      chatId: 'chat',
      kind: 'answer',
      text,
      media: [],
      expiresAt: this.clock.now() + 3_600_000,
      metadata: {},
      ...message,
    });
    await settle();
    return id;
  }

  /** Undefined once the message is finished. */
  state(id: string): string | undefined {
    return this.journal.outbox.open(id)?.state;
  }

  /** The process ends at once and a new one opens the same journal; what was in flight is cut off. */
  async restart(): Promise<void> {
    await this.#end();
    this.journal = await openAt(this.#folder, this.clock);
    this.bus = this.#openBus();
    this.delivery = this.#openDelivery();
  }

  /** The machine goes down with what was in flight, and comes up again. What was committed is still there. */
  async losePower(): Promise<void> {
    await this.#cutOff();
    this.#cut.push(this.journal);
    this.journal = await openAt(this.#folder, this.clock, `run ${this.#cut.length}`);
    this.bus = this.#openBus();
    this.delivery = this.#openDelivery();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    for (const journal of this.#cut) journal[Symbol.dispose]();
    await rm(this.#folder, { recursive: true });
  }

  async #end(): Promise<void> {
    await this.#cutOff();
    this.journal[Symbol.dispose]();
  }

  async #cutOff(): Promise<void> {
    const drained = this.delivery.drain(0);
    await this.clock.advance(1);
    await drained;
    this.bus.close();
  }

  #openBus(): MessageBus {
    const { inbox, outbox } = this.journal;
    return new MessageBus({ inbox, outbox, newId: createIds(this.clock, steadyRandom) });
  }

  #openDelivery(): Delivery {
    const { bus, journal, outlets, clock, log } = this;
    const storage = storageHealth(clock);
    return new Delivery(appWith({ bus, journal, storage, clock, random: steadyRandom, log }), outlets);
  }
}

function openAt(folder: string, clock: VirtualClock, boot?: string): Promise<Journal> {
  const newId = createIds(clock, steadyRandom);
  return openJournal({
    path: join(folder, 'state.db'),
    backupPath: null,
    clock,
    newId,
    ...(boot === undefined ? {} : { boot }),
  });
}

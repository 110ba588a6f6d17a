import { failed, type Finding } from '../../core/util/finding.ts';
import type { HomeOnGateway } from '../../core/gateway/assistant-info.ts';
import { homeOfMachine } from '../../core/config/hosted-home.ts';
import type { Fleet } from '../homes/fleet.ts';
import type { HomeStore } from '../homes/home-store.ts';
import type { Lease } from '../homes/lease.ts';
import type { Presence } from '../homes/gateways.ts';
import { classifyFailure } from '../../core/storage/storage-failure.ts';
import type { StorageState } from '../../core/storage/storage-health.ts';
import { deadline, raceAbort, type Clock } from '../../core/util/clock.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import type { Logger } from '../../core/util/log.ts';
import type { Random } from '../../core/util/random.ts';
import { Slots } from '../../core/util/slots.ts';
import { HostedAssistant, type CreateOptions } from '../agents/hosted-assistant.ts';
import type { Assistant } from '../../core/library/assistant.ts';

/** Between two looks at what this gateway is to run, ms; and while homes are on their way to it or from it. */
const LOOK_MS = 1_000;
const MOVING_LOOK_MS = 200;
/** Homes that are opened at the same time: each reads its copy from the disk, and what it lacks from the database. */
const OPENED_AT_ONCE = 4;
/**
 * Homes that are stopped at the same time, so that the first are given back soon: when all of many stop at once, none has ended when the
 * time is over. Those whose turns may end for a while are among them.
 */
const STOPPED_AT_ONCE = 32;
/** Those that have not stopped then are given back as they are, because the process ends a second later; ms. */
const STOPPED_MS = 8_500;
/** A home that is handed over waits so long for its running turns; then they continue on the next gateway. */
const DRAIN_MS = 30_000;
/** After so many failures in a row a home is for other gateways, for a while. */
const MOST_FAILURES = 3;
const AVOIDED_MS = 300_000;

export interface HomesPorts {
  readonly store: HomeStore;
  readonly presence: Presence;
  /** The folder of the machine. */
  readonly machine: string;
  /** Opens a home and starts its assistant, which gives the lease back when it closes; also when it rejects. */
  readonly open: (lease: Lease, options: CreateOptions) => Promise<Assistant>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

interface HomeHere {
  readonly hosted: HostedAssistant;
  /** The newest; it may have been given back. */
  lease: Lease;
  /** It was claimed for a start that did not begin yet. */
  isFresh: boolean;
  failures: number;
  isLeaving: boolean;
}

/** The homes that the gateway of a machine runs: it claims its share, starts each by itself alone, and hands over what is too much. */
export class Homes implements AsyncDisposable {
  readonly #ports: HomesPorts;
  readonly #here = new Map<string, HomeHere>();
  /** Given back, because they could not be opened here: why, and until when (monotonic) they are avoided. */
  readonly #givenUp = new Map<string, { readonly reason: string; readonly until: number }>();
  readonly #opening = new Slots(OPENED_AT_ONCE);
  readonly #looked = Promise.withResolvers<void>();
  #fleet: Fleet = { gateways: [], homes: [] };
  /** The database, since it did not answer. */
  #storage: StorageState | null = null;
  #next: Disposable | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isMoving = false;
  #isStopping = false;

  constructor(ports: HomesPorts) {
    this.#ports = ports;
  }

  /** Begins to claim and to start homes. Resolves after the first look; the homes of it are starting then. */
  async start(): Promise<void> {
    this.#lookAgain();
    await this.#looked.promise;
  }

  /** By name. */
  list(): readonly HomeOnGateway[] {
    const { machine, clock } = this.#ports;
    const here = Array.from(this.#here, ([name, { hosted, isLeaving }]): HomeOnGateway => {
      const state = stateOf(hosted, isLeaving);
      const detail = state === 'failed' ? hosted.detail : undefined;
      return { name, state, folder: homeOfMachine(machine, name), ...(detail === undefined ? {} : { detail }) };
    });
    const givenUp = Array.from(this.#givenUp).flatMap(([name, { reason, until }]): readonly HomeOnGateway[] =>
      this.#here.has(name) ||
      until <= clock.monotonic() ||
      this.#fleet.homes.some((one) => one.name === name && one.isHeld)
        ? []
        : [{ name, state: 'failed', detail: reason, folder: homeOfMachine(machine, name) }],
    );
    const known = new Set([...here, ...givenUp].map(({ name }) => name));
    const waiting = this.#fleet.homes
      .filter(({ name, isHeld, isWhole, keptBy }) => !isHeld && isWhole && keptBy === null && !known.has(name))
      .map(({ name }): HomeOnGateway => ({ name, state: 'waiting', folder: homeOfMachine(machine, name) }));
    return [...here, ...givenUp, ...waiting].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** By name, with what those that run say of themselves. */
  async facts(): Promise<readonly HomeOnGateway[]> {
    const facts = this.list().map(async (home) => {
      const { turns, store } = (await this.#here.get(home.name)?.hosted.assistant?.call('info', {})) ?? {};
      return {
        ...home,
        ...(turns === undefined ? {} : { turns }),
        ...(store === undefined ? {} : { behind: store.behind }),
      };
    });
    return await Promise.all(facts);
  }

  /** The database, while it does not answer; null: it does. */
  get storage(): StorageState | null {
    return this.#storage;
  }

  /** What is wrong beside what the list says of each home. */
  get findings(): readonly Finding[] {
    if (this.#storage === null) return [];
    const says = `The database of the setting store does not answer: ${this.#storage.reason ?? ''}`;
    return [{ id: 'database.connects', ...failed(says) }];
  }

  /** Has each home read its configuration again. */
  async reload(): Promise<void> {
    await Promise.all(Array.from(this.#here.values(), ({ hosted }) => hosted.reload()));
  }

  /** Their next starts count as ones after a crash. */
  markCrashed(): void {
    for (const { hosted } of this.#here.values()) hosted.markCrashed();
  }

  /**
   * Stops all homes, within 9 s, and gives them back: other gateways take them at once. A home that has not stopped by then goes as after
   * a crash, without the wait for its lease.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    this.#next?.[Symbol.dispose]();
    void this.#ports.presence.leave();
    const stopping = new Slots(STOPPED_AT_ONCE);
    const isRunning = ({ hosted }: HomeHere): number => (hosted.state === 'running' ? 1 : 0);
    // Those first that only wait to be started.
    const ordered = Array.from(this.#here.values()).toSorted((a, b) => isRunning(a) - isRunning(b));
    const stopped = ordered.map(({ hosted }) => stopping.run(() => hosted.stop()));
    if (!(await this.#inTime(Promise.all([this.#looking, ...stopped])))) return;
    // One that was claimed and never started.
    const unused = Array.from(this.#here.values(), async ({ lease, isFresh }) => {
      if (isFresh) await lease.release();
    });
    await Promise.all(unused).catch((error: unknown) =>
      this.#ports.log.warn('homes: a home was not given back', { reason: errorMessage(error) }),
    );
  }

  /** False: the time was over before, and what was left is given back. */
  async #inTime(stopped: Promise<unknown>): Promise<boolean> {
    const { clock, log, store } = this.#ports;
    using limit = deadline(clock, STOPPED_MS, 'stopping');
    try {
      await raceAbort(stopped, limit.signal);
      return true;
    } catch {
      log.warn('homes: not all stopped in time, they are given back', { homes: store.leases.held });
      // None may be started again.
      for (const { hosted } of this.#here.values()) void hosted.stop();
      await store.leases
        .releaseAll()
        .catch((failure: unknown) => log.warn('homes: homes were not given back', { reason: errorMessage(failure) }));
      return false;
    }
  }

  #lookAgain(): void {
    if (this.#isStopping) return;
    const { clock, log } = this.#ports;
    this.#looking = this.#look().then(
      () => {
        if (this.#storage === null) return;
        log.info('homes: the database answers again');
        this.#storage = null;
        // Those that could not start meanwhile are not left to their back-off.
        for (const { hosted } of this.#here.values()) hosted.tryNow();
      },
      (error: unknown) => {
        this.#isMoving = false;
        const reason = errorMessage(error);
        if (this.#storage === null) log.error('homes: the database does not say what to run', { reason });
        this.#storage = { state: 'no-database', since: this.#storage?.since ?? clock.now(), reason };
      },
    );
    void this.#looking.then(() => {
      this.#looked.resolve();
      const nextMs = this.#isMoving ? MOVING_LOOK_MS : LOOK_MS;
      if (!this.#isStopping) this.#next = clock.timer(nextMs, () => this.#lookAgain());
    });
  }

  async #look(): Promise<void> {
    const { store, presence } = this.#ports;
    const { fleet, claim, handOver, isMoving } = await presence.share();
    this.#fleet = fleet;
    for (const name of handOver) this.#handOver(name);
    // What waits to be started here is no work for another gateway, and more of it no use for anyone.
    const starting = Array.from(this.#here.values()).filter(({ hosted }) => hosted.state === 'starting').length;
    // One that waits here for its next attempt is free too.
    const wanted = claim.filter((name) => !this.#here.has(name));
    this.#isMoving = isMoving || wanted.length > 0;
    const now = wanted.slice(0, Math.max(0, 2 * OPENED_AT_ONCE - starting));
    if (this.#isStopping || now.length === 0) return;
    for (const lease of await store.leases.claimAll(now)) this.#begin(lease);
  }

  #begin(claimed: Lease): void {
    const { presence, clock, random, log } = this.#ports;
    const { name } = claimed;
    this.#givenUp.delete(name);
    presence.came(name);
    const here: HomeHere = {
      lease: claimed,
      isFresh: true,
      failures: 0,
      isLeaving: false,
      hosted: new HostedAssistant({
        what: 'homes: home',
        create: (options) => this.#open(name, options),
        setState: (state) => {
          if (state === 'running') here.failures = 0;
        },
        clock,
        random,
        log: log.with({ home: name }),
      }),
    };
    this.#here.set(name, here);
    if (this.#isStopping) return;
    void here.hosted.start();
  }

  async #open(name: string, options: CreateOptions): Promise<Assistant> {
    const { store, open } = this.#ports;
    const here = this.#here.get(name);
    if (here === undefined) throw new Error(`the home ${name} is not run here`);
    using slot = await this.#opening.hold(options.signal);
    const lease = here.isFresh ? here.lease : await store.leases.claim(name);
    here.isFresh = false;
    if (lease === null) {
      void this.#leave(name);
      throw new AppError('home-elsewhere', `Another gateway took the home ${name}.`);
    }
    here.lease = lease;
    const failing = (reason: string): void => {
      // It waits for a person, and the next home does not wait for it.
      slot[Symbol.dispose]();
      options.failing(reason);
    };
    try {
      const assistant = await open(lease, { ...options, failing });
      if (lease.lost.aborted) options.restart();
      else lease.lost.addEventListener('abort', () => options.restart(), { once: true });
      return assistant;
    } catch (error) {
      // A database that is away is away for the other gateways too.
      if (!options.signal.aborted && classifyFailure(error) !== 'no-database') {
        here.failures += 1;
        if (here.failures >= MOST_FAILURES) void this.#giveUp(name, errorMessage(error));
      }
      throw error;
    }
  }

  /** Another gateway may be able to open it. */
  async #giveUp(name: string, reason: string): Promise<void> {
    const { presence, clock, log } = this.#ports;
    log.error('homes: a home cannot be opened here, it is left to other gateways for a while', { home: name, reason });
    this.#givenUp.set(name, { reason, until: clock.monotonic() + AVOIDED_MS });
    await presence.avoid(name, AVOIDED_MS);
    await this.#leave(name);
  }

  #handOver(name: string): void {
    const here = this.#here.get(name);
    if (here === undefined || here.isLeaving) return;
    here.isLeaving = true;
    const { log } = this.#ports;
    log.info('homes: handing a home over', { home: name });
    here.lease.leave().catch((error: unknown) => {
      log.warn('homes: the others were not told that a home is handed over', {
        home: name,
        reason: errorMessage(error),
      });
    });
    void this.#leave(name, DRAIN_MS);
  }

  async #leave(name: string, turnsMs?: number): Promise<void> {
    const here = this.#here.get(name);
    if (here === undefined) return;
    await here.hosted.stop(turnsMs);
    if (here.isFresh) await here.lease.release().catch(() => {});
    if (this.#here.get(name) === here) this.#here.delete(name);
    this.#ports.log.info('homes: a home is no longer run here', { home: name });
  }
}

function stateOf(hosted: HostedAssistant, isLeaving: boolean): HomeOnGateway['state'] {
  if (isLeaving) return 'leaving';
  return hosted.state === 'away' ? 'starting' : hosted.state;
}

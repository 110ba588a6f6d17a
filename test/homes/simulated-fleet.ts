import type { Fleet, GatewayFacts, HomeFacts } from '../../src/host/homes/fleet.ts';
import { Settling } from '../../src/host/homes/settling.ts';
import { shareOf } from '../../src/host/homes/share.ts';

interface Home {
  facts: HomeFacts;
  holder: string | null;
  /** When its lease ends or ended, ms. */
  until: number;
}

interface Machine {
  facts: GatewayFacts;
  readonly isHung: boolean;
  readonly broken: Set<string>;
  /** Gateways that did not get to their homes, and until when it gives them none, ms. */
  readonly slow: Map<string, number>;
  /** When it looks next, ms. */
  looksAt: number;
  /** Homes that it claimed, and when each runs there, ms. */
  readonly opening: Map<string, number>;
  readonly settling: Settling;
}

const ROUND_MS = 1_000;
/** Of a gateway to or from which homes move, between two looks; else a round. */
const STEP_MS = 200;
const LEASE_MS = 15_000;
/** Homes that a gateway opens at the same time, and has claimed and not opened. */
const OPENED_AT_ONCE = 4;
const MOST_CLAIMED = 8;

const SLOW_MS = 300_000;

export interface FleetOptions {
  readonly oldestReader?: number;
  /** How long a home is handed over until it is free, ms. @default 3,000 */
  readonly drainMs?: number;
  /** How long a gateway opens a home, ms. @default 400 */
  readonly openMs?: number;
}

/** Gateways that do what `shareOf` says, each by what the database said when all that look at a moment began to. */
export class SimulatedFleet {
  /** How often each home went from one gateway that was alive to another one. */
  readonly moves = new Map<string, number>();
  /** How often a gateway had more homes than it may. */
  overMax = 0;
  claims = 0;
  readonly #homes = new Map<string, Home>();
  readonly #machines = new Map<string, Machine>();
  /** When each home that is handed over is free, ms. */
  readonly #draining = new Map<string, number>();
  readonly #receivers = new Set<string>();
  readonly #drainMs: number;
  readonly #openMs: number;
  #now = 0;
  #started = 0;

  constructor(loads: readonly number[], { oldestReader = 0, drainMs = 3_000, openMs = 400 }: FleetOptions = {}) {
    this.#drainMs = drainMs;
    this.#openMs = openMs;
    for (const [at, load] of loads.entries()) {
      const name = `home-${at}`;
      const facts: HomeFacts = {
        name,
        owner: null,
        gateway: null,
        isHeld: false,
        isLeaving: false,
        leaseEndsInMs: null,
        load,
        revision: 1,
        writtenAt: null,
        isWhole: true,
        keptBy: null,
        keptAt: null,
        oldestReader,
        needsNewer: false,
      };
      this.#homes.set(name, { facts, holder: null, until: 0 });
    }
  }

  start(max: number, { schema = 1, isHung = false, isTaking = true } = {}): string {
    return this.#start({ max, schema, isHung, isTaking, only: null });
  }

  /** A gateway of one home that waits for it. */
  startOnly(home: string): string {
    return this.#start({ max: 1, schema: 1, isHung: true, isTaking: false, only: home });
  }

  #start({
    isHung,
    ...facts
  }: Pick<GatewayFacts, 'max' | 'schema' | 'only' | 'isTaking'> & { readonly isHung: boolean }): string {
    this.#started += 1;
    const owner = `gateway-${String(this.#started).padStart(3, '0')}`;
    const rest = { name: owner, version: '1', startedAt: 0, isAlive: true, isLeaving: false, homes: 0, load: 0 };
    this.#machines.set(owner, {
      facts: { ...rest, ...facts, owner, avoids: [] },
      isHung,
      broken: new Set(),
      slow: new Map(),
      looksAt: this.#now,
      opening: new Map(),
      settling: new Settling({ monotonic: () => this.#now }),
    });
    return owner;
  }

  /** Stops in order: gives everything back. */
  stop(which: number): void {
    const machine = this.#alive(which);
    if (machine === undefined) return;
    machine.facts = { ...machine.facts, isAlive: false };
    for (const home of this.#heldBy(machine)) this.#free(home);
  }

  /** Its homes stay its own until their leases end. */
  kill(which: number): void {
    const machine = this.#alive(which);
    if (machine !== undefined) machine.facts = { ...machine.facts, isAlive: false };
  }

  cannotOpen(owner: string, home: string): void {
    this.#machines.get(owner)?.broken.add(home);
  }

  change(name: string, facts: Partial<HomeFacts>): void {
    const home = this.#homes.get(name);
    if (home !== undefined) home.facts = { ...home.facts, ...facts };
  }

  setLoads(loadOf: () => number): void {
    for (const home of this.#homes.values()) home.facts = { ...home.facts, load: loadOf() };
  }

  /** A second. */
  round(): void {
    const end = this.#now + ROUND_MS;
    while (this.#now < end) this.#step();
  }

  /** Milliseconds until it holds; throws when it does not within so many. */
  timeUntil(holds: () => boolean, withinMs: number): number {
    const began = this.#now;
    while (!holds()) {
      if (this.#now - began >= withinMs) throw new Error(`not within ${withinMs} ms`);
      this.#step();
    }
    return this.#now - began;
  }

  #step(): void {
    this.#now += STEP_MS;
    for (const [name, until] of this.#draining) {
      const home = this.#homes.get(name);
      if (home === undefined || home.holder === null) this.#draining.delete(name);
      else if (until <= this.#now) this.#free(home);
    }
    for (const machine of this.#machines.values()) {
      if (machine.facts.isAlive) for (const home of this.#heldBy(machine)) home.until = this.#now + LEASE_MS;
      for (const [name, until] of machine.opening) if (until <= this.#now) machine.opening.delete(name);
    }
    for (const home of this.#homes.values()) if (home.until <= this.#now) home.holder = null;
    const looking = Array.from(this.#machines.values()).filter(
      ({ facts, isHung, looksAt }) => facts.isAlive && !isHung && looksAt <= this.#now,
    );
    if (looking.length === 0) return;
    const seen = this.#seen();
    for (const machine of looking) {
      const { settling } = machine;
      settling.sees(seen);
      for (const [owner, until] of machine.slow) if (until <= this.#now) machine.slow.delete(owner);
      const { claim, handOver, isMoving, slow } = shareOf(seen, machine.facts.owner, {
        slow: new Set(machine.slow.keys()),
        stays: (home, to) => settling.stays(home, to),
      });
      for (const owner of slow) machine.slow.set(owner, this.#now + SLOW_MS);
      for (const name of claim.slice(0, MOST_CLAIMED - machine.opening.size)) this.#claim(machine, name);
      for (const name of handOver) {
        this.change(name, { isLeaving: true });
        this.#draining.set(name, this.#now + this.#drainMs);
      }
      machine.looksAt = this.#now + (isMoving || claim.length > 0 ? STEP_MS : ROUND_MS);
      if (this.#heldBy(machine).length > machine.facts.max) this.overMax += 1;
    }
  }

  /** Goes on until nothing has happened for longer than any patience. */
  settle(): void {
    for (let quiet = 0; quiet < 90;) {
      const before = this.claims;
      this.round();
      quiet = this.claims === before && this.#draining.size === 0 ? quiet + 1 : 0;
      if (this.claims > 50_000) throw new Error('it never settles');
    }
  }

  held(): number {
    return Array.from(this.#homes.values()).filter(({ holder }) => holder !== null).length;
  }

  /** How many it has opened. */
  running(owner: string): number {
    return this.homesOf(owner) - (this.#machines.get(owner)?.opening.size ?? 0);
  }

  /** How many are free or opened: people wait for those. */
  away(): number {
    const opening = Array.from(this.#machines.values()).reduce((sum, machine) => sum + machine.opening.size, 0);
    return this.#homes.size - this.held() + opening;
  }

  /** For how long a home is free that is so for longest, ms. */
  longestFree(): number {
    const free = Array.from(this.#homes.values()).filter(
      ({ holder, facts }) => holder === null && facts.owner !== null,
    );
    return Math.max(0, ...free.map(({ until }) => this.#now - until));
  }

  /** How many homes those that are alive may have together. */
  room(): number {
    return this.#many().reduce((sum, { facts }) => sum + facts.max, 0);
  }

  homesOf(owner: string): number {
    return Array.from(this.#homes.values()).filter(({ holder }) => holder === owner).length;
  }

  holderOf(home: string): string | null {
    return this.#homes.get(home)?.holder ?? null;
  }

  /** Who got homes that another gateway handed over. */
  receivers(): readonly string[] {
    return Array.from(this.#receivers);
  }

  /** Homes that one move would even out, where the difference is more than a tenth. */
  mendable(): readonly string[] {
    const loadOf = (machine: Machine): number => this.#heldBy(machine).reduce((sum, { facts }) => sum + facts.load, 0);
    return this.#many().flatMap((from) =>
      this.#many().flatMap((to) => {
        const gap = loadOf(from) - loadOf(to);
        if (gap <= loadOf(from) * 0.1 + 1e-9 || this.#heldBy(to).length >= to.facts.max) return [];
        return this.#heldBy(from)
          .filter(({ facts }) => facts.load * 2 <= gap - 1e-9 && !to.broken.has(facts.name))
          .map(({ facts }) => `${facts.name} from ${from.facts.owner} to ${to.facts.owner}`);
      }),
    );
  }

  #claim(machine: Machine, name: string): void {
    const home = this.#homes.get(name);
    if (home === undefined || home.holder !== null) return;
    this.claims += 1;
    if (machine.broken.has(name)) {
      machine.facts = { ...machine.facts, avoids: [...machine.facts.avoids, name] };
      this.#free(home);
      return;
    }
    const before = home.facts.owner;
    if (before !== null && before !== machine.facts.owner && this.#machines.get(before)?.facts.isAlive === true) {
      this.moves.set(name, (this.moves.get(name) ?? 0) + 1);
      this.#receivers.add(machine.facts.owner);
    }
    home.holder = machine.facts.owner;
    machine.settling.came(name);
    home.until = this.#now + LEASE_MS;
    // The first that becomes free of those that open.
    const ends = Array.from(machine.opening.values()).toSorted((a, b) => b - a);
    machine.opening.set(name, Math.max(this.#now, ends[OPENED_AT_ONCE - 1] ?? 0) + this.#openMs);
    home.facts = { ...home.facts, owner: home.holder, isLeaving: false };
  }

  #free(home: Home): void {
    home.holder = null;
    home.until = this.#now;
    this.#draining.delete(home.facts.name);
  }

  /** What a reader of the database finds; a lease that ended is seen as ended. */
  #seen(): Fleet {
    const homes = Array.from(this.#homes.values()).map((home): HomeFacts => {
      const { holder, until } = home;
      const leaseEndsInMs = home.facts.owner === null ? null : until - this.#now;
      return { ...home.facts, owner: holder, isHeld: holder !== null, leaseEndsInMs };
    });
    return { gateways: Array.from(this.#machines.values()).map(({ facts }) => facts), homes };
  }

  #many(): readonly Machine[] {
    return Array.from(this.#machines.values()).filter(({ facts }) => facts.isAlive && facts.only === null);
  }

  #alive(which: number): Machine | undefined {
    const alive = this.#many();
    return alive[which % Math.max(1, alive.length)];
  }

  #heldBy({ facts }: Machine): readonly Home[] {
    return Array.from(this.#homes.values()).filter(({ holder }) => holder === facts.owner);
  }
}

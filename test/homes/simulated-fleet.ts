import type { Fleet, GatewayFacts, HomeFacts } from '../../src/homes/fleet.ts';
import { shareOf } from '../../src/homes/share.ts';

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
}

const ROUND_MS = 1_000;
const LEASE_MS = 15_000;
/** Rounds of a drain. */
const DRAIN_ROUNDS = 3;
/** Homes that a gateway opens in a round. */
const OPENED = 4;

/** Gateways that do what `shareOf` says, a second after the other, each by what the database said when the round began. */
export class SimulatedFleet {
  /** How often each home went from one gateway that was alive to another one. */
  readonly moves = new Map<string, number>();
  /** How often a gateway had more homes than it may. */
  overMax = 0;
  claims = 0;
  readonly #homes = new Map<string, Home>();
  readonly #machines = new Map<string, Machine>();
  readonly #draining = new Map<string, number>();
  readonly #receivers = new Set<string>();
  #now = 0;
  #started = 0;

  constructor(loads: readonly number[], { oldestReader = 0 } = {}) {
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
    this.#machines.set(owner, { facts: { ...rest, ...facts, owner, avoids: [] }, isHung, broken: new Set() });
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

  round(): void {
    this.#now += ROUND_MS;
    for (const [name, rounds] of this.#draining) {
      const home = this.#homes.get(name);
      if (home === undefined || home.holder === null) this.#draining.delete(name);
      else if (rounds > 0) this.#draining.set(name, rounds - 1);
      else this.#free(home);
    }
    for (const machine of this.#machines.values()) {
      if (machine.facts.isAlive) for (const home of this.#heldBy(machine)) home.until = this.#now + LEASE_MS;
    }
    const seen = this.#seen();
    for (const machine of this.#machines.values()) {
      if (!machine.facts.isAlive || machine.isHung) continue;
      const { claim, handOver } = shareOf(seen, machine.facts.owner);
      for (const name of claim.slice(0, OPENED)) this.#claim(machine, name);
      for (const name of handOver) {
        this.change(name, { isLeaving: true });
        this.#draining.set(name, DRAIN_ROUNDS);
      }
      if (this.#heldBy(machine).length > machine.facts.max) this.overMax += 1;
    }
  }

  /** Goes on until nothing has happened for longer than any patience. */
  settle(): void {
    for (let quiet = 0; quiet < 60;) {
      const before = this.claims;
      this.round();
      quiet = this.claims === before && this.#draining.size === 0 ? quiet + 1 : 0;
      if (this.claims > 50_000) throw new Error('it never settles');
    }
  }

  held(): number {
    return Array.from(this.#homes.values()).filter(({ holder }) => holder !== null).length;
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
    home.until = this.#now + LEASE_MS;
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
      if (home.holder !== null && home.until <= this.#now) home.holder = null;
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

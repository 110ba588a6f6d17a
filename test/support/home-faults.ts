import { setTimeout as delay } from 'node:timers/promises';
import type { HomeGateway } from './home-gateways.ts';
import type { HomeHistory } from './home-history.ts';
import { waitFor } from './wait.ts';

export const FAULTS = ['killed', 'frozen', 'cut'] as const;
export type Fault = (typeof FAULTS)[number];

/** A fault that was brought. */
export interface Hit {
  readonly n: number;
  readonly gateway: string;
  readonly kind: Fault;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface FaultPlan {
  readonly faults: number;
  readonly seed: number;
  readonly random: () => number;
  /** How long a gateway stays frozen or cut, ms. */
  readonly awayMs: number;
  /** Between two faults at most, ms. */
  readonly betweenMs: number;
  /** Told when a gateway is back. */
  readonly onFault?: (line: string) => void;
}

/** A gateway that was killed is started again within this time. */
const RESTART_MS = 3_000;

/**
 * Kills, freezes and cuts gateways from PostgreSQL, at random and several at once, but each home always has a gateway that is well
 * and may run it. Only those are hit that have a home.
 */
export class HomeFaults {
  readonly hits: Hit[] = [];
  readonly #gateways: readonly HomeGateway[];
  readonly #history: HomeHistory;
  readonly #plan: FaultPlan;
  readonly #out = new Set<HomeGateway>();

  constructor(gateways: readonly HomeGateway[], history: HomeHistory, plan: FaultPlan) {
    this.#gateways = gateways;
    this.#history = history;
    this.#plan = plan;
  }

  /** Resolves when all were brought and every gateway is back; rejects when one does not come back. */
  async run(): Promise<void> {
    const { faults, seed, random, betweenMs } = this.#plan;
    const brought: Promise<void>[] = [];
    const failures: unknown[] = [];
    try {
      for (let n = 0; n < faults && failures.length === 0; n += 1) {
        await delay(random() * betweenMs);
        const gateway = await this.#next();
        this.#out.add(gateway);
        const bringing = this.#bring(gateway, FAULTS[(n + seed) % FAULTS.length] ?? 'killed');
        brought.push(
          bringing.then(
            () => void this.#out.delete(gateway),
            (error: unknown) => void failures.push(error),
          ),
        );
      }
    } finally {
      // None is started when the storm is over.
      await Promise.all(brought);
    }
    if (failures.length > 0) throw failures[0];
  }

  async #next(): Promise<HomeGateway> {
    const chosen = this.#plan.random();
    return await waitFor(
      async () => {
        const held = new Set((await this.#history.holders()).values());
        const may = this.#gateways.filter((one) => held.has(one.name) && this.#mayGo(one));
        return may[Math.floor(chosen * may.length)];
      },
      { timeoutMs: 120_000, what: 'a gateway that may be hit' },
    );
  }

  #mayGo(gateway: HomeGateway): boolean {
    if (this.#out.has(gateway)) return false;
    const others = this.#gateways.filter((one) => one !== gateway && !this.#out.has(one));
    return gateway.homes.every((home) => others.some(({ homes }) => homes.includes(home)));
  }

  async #bring(gateway: HomeGateway, kind: Fault): Promise<void> {
    const { random, awayMs, onFault } = this.#plan;
    const [closes, restartMs] = [random() < 0.5, random() * RESTART_MS];
    const held = [...(await this.#history.holders())].filter(([, by]) => by === gateway.name).map(([home]) => home);
    const hit: Hit = { n: this.hits.length + 1, gateway: gateway.name, kind, at: Date.now() };
    this.hits.push(hit);
    if (kind === 'killed') {
      await gateway.kill();
      await delay(restartMs);
      await gateway.start();
    } else {
      if (kind === 'frozen') gateway.freeze();
      else gateway.cut(closes);
      await delay(awayMs);
      if (kind === 'frozen') gateway.thaw();
      else gateway.proxy.mend();
    }
    const backAt = Date.now();
    const keptAll = async (): Promise<boolean> => {
      const changes = await this.#history.changes(hit.at);
      return !changes.some(({ home, by }) => held.includes(home) && by !== gateway.name);
    };
    const isBack = gateway.isMachine ? () => this.#history.sees(gateway.folder) : keptAll;
    await gateway.settled(kind === 'killed' ? undefined : isBack);
    const claims = (await this.#history.changes(hit.at)).filter(({ kind: what }) => what === 'claimed');
    const first = held.flatMap((home) => claims.find((one) => one.home === home) ?? []);
    const taken = first.filter(({ by }) => by !== gateway.name);
    const longest = Math.max(0, ...taken.map(({ at, leaseEnd }) => Math.round(at - leaseEnd)));
    onFault?.(
      `${hit.n}: ${hit.gateway} ${kind} for ${backAt - hit.at} ms with ${held.length} homes, ` +
        `${taken.length} of them taken over up to ${longest} ms after their lease, back after ${Date.now() - backAt} ms`,
    );
  }
}

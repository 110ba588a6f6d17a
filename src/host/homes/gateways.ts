import type { Clock } from '../../core/util/clock.ts';
import { errorMessage } from '../../core/util/errors.ts';
import type { Logger } from '../../core/util/log.ts';
import { type Fleet, readFleet } from './fleet.ts';
import type { Postgres } from './postgres.ts';
import { Settling } from './settling.ts';
import { type Share, shareOf } from './share.ts';

/** A gateway as the others and people know it. */
export interface Gateway {
  /** Its folder and machine: `/srv/homes/alice on host-1`. */
  readonly name: string;
  readonly version: string;
  /** Most homes that it runs. */
  readonly max: number;
}

export interface PresenceOptions {
  /** Not the connection of the homes. */
  readonly postgres: Postgres;
  readonly owner: string;
  readonly gateway: Gateway;
  /** The one home that it runs or waits for; null: it takes its share of all. */
  readonly only: string | null;
  /** Steps of the journal's schema that its program knows. */
  readonly schema: number;
  /** A gateway that was not seen for so long counts as gone. */
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** It says that it is alive after this part of the lease. */
const SEEN_PART = 1 / 3;
/** A gateway that did not get to its homes is given none for so long: they would only be away until they are taken back. */
const SLOW_MS = 300_000;
/** A gateway that is gone stays known for so long. */
const KNOWN_HOURS = 24;

/** Notes in the database that this gateway is alive, also while it runs no home, until it is disposed. */
export class Presence implements AsyncDisposable {
  readonly #options: PresenceOptions;
  readonly #startedAt: number;
  /** Until when it does not take a home, by the monotonic clock. */
  readonly #avoided = new Map<string, number>();
  /** Until when another gateway counts as slow, by the monotonic clock. */
  readonly #slow = new Map<string, number>();
  readonly #settling: Settling;
  /** Homes that an earlier process of this owner held when this one looked first, and that are not claimed again yet. */
  #left: Set<string> | undefined;
  #askedAt = -Infinity;
  #isLeaving = false;
  #isTroubled = false;
  #next: Disposable | undefined;
  #closed = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#settling = new Settling(options.clock);
  }

  /** What runs where, and what this gateway is to do for its share now. One that does not ask for as long as a lease is given nothing. Rejects as `Postgres` does. */
  async share(): Promise<Share & { readonly fleet: Fleet }> {
    const { postgres, owner, schema, clock } = this.#options;
    const isNew = !this.#isTaking;
    const now = clock.monotonic();
    this.#askedAt = now;
    if (isNew) await this.note();
    const fleet = await readFleet(postgres, schema);
    this.#settling.sees(fleet);
    forget(this.#slow, now);
    const share = shareOf(fleet, owner, {
      slow: new Set(this.#slow.keys()),
      stays: (home, to) => this.#settling.stays(home, to),
    });
    for (const one of share.slow) this.#slow.set(one, now + SLOW_MS);
    return { fleet, ...share, claim: [...share.claim, ...this.#leftIn(fleet)] };
  }

  /** This gateway claimed a home for its share, which stays for a while. */
  came(home: string): void {
    this.#left?.delete(home);
    this.#settling.came(home);
  }

  /** Homes that an earlier process left: it is gone, nobody renews their leases, and no plan gives them to anyone meanwhile. */
  #leftIn({ homes }: Fleet): readonly string[] {
    const { owner, gateway } = this.#options;
    const held = homes.filter((home) => home.owner === owner && home.isHeld && !home.isLeaving);
    this.#left ??= new Set(held.map(({ name }) => name));
    const left = held.map(({ name }) => name).filter((name) => this.#left?.has(name));
    return left.slice(0, Math.max(0, gateway.max - (held.length - left.length)));
  }

  /** Notes it now, and goes on by itself. Never rejects: homes run without it. */
  async note(): Promise<void> {
    this.#next?.[Symbol.dispose]();
    const { leaseMs, clock, log } = this.#options;
    try {
      await this.#write(leaseMs);
      this.#isTroubled = false;
    } catch (error) {
      if (!this.#isTroubled) log.warn('homes: the gateway is not noted', { reason: errorMessage(error) });
      this.#isTroubled = true;
    }
    this.#next?.[Symbol.dispose]();
    if (!this.#closed) this.#next = clock.timer(leaseMs * SEEN_PART, () => void this.note());
  }

  /** Tells the others that this gateway takes no more homes and hands over those that it has. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await this.note();
  }

  /** This gateway cannot open the home; for so long it is for others. */
  async avoid(home: string, forMs: number): Promise<void> {
    this.#avoided.set(home, this.#options.clock.monotonic() + forMs);
    await this.note();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#next?.[Symbol.dispose]();
    await this.#write(0).catch(() => {});
  }

  get #isTaking(): boolean {
    const { clock, leaseMs } = this.#options;
    return clock.monotonic() - this.#askedAt < leaseMs;
  }

  async #write(forMs: number): Promise<void> {
    const { postgres, owner, only, gateway, schema } = this.#options;
    const { name, version, max } = gateway;
    forget(this.#avoided, this.#options.clock.monotonic());
    await postgres.query(
      `WITH forgotten AS (
         DELETE FROM assistant.gateways WHERE seen_until < clock_timestamp() - interval '${KNOWN_HOURS} hours' AND owner <> $1
       )
       INSERT INTO assistant.gateways AS gateway
         (owner, name, version, only_home, max, started_at, seen_until, is_leaving, avoids, schema, is_taking)
       VALUES ($1, $2, $3, $4, $5, to_timestamp($6 / 1000.0), clock_timestamp() + $7 * interval '1 ms', $8, $9, $10, $11)
       ON CONFLICT (owner) DO UPDATE SET name = excluded.name, version = excluded.version, only_home = excluded.only_home,
         max = excluded.max, started_at = excluded.started_at, seen_until = excluded.seen_until,
         is_leaving = excluded.is_leaving, avoids = excluded.avoids, schema = excluded.schema, is_taking = excluded.is_taking`,
      [
        owner,
        name,
        version,
        only,
        max,
        this.#startedAt,
        forMs,
        this.#isLeaving,
        Array.from(this.#avoided.keys()),
        schema,
        this.#isTaking,
      ],
    );
  }
}

function forget(until: Map<string, number>, now: number): void {
  for (const [name, end] of until) if (end <= now) until.delete(name);
}

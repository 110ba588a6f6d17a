import type { Clock } from '../../core/util/clock.ts';
import { type AppError, errorMessage } from '../../core/util/errors.ts';
import type { Logger } from '../../core/util/log.ts';
import { HomeLoad } from './load.ts';
import type { Postgres, StoredRow } from './postgres.ts';
import { homeLost, homeReleased } from './stored-home.ts';

export interface LeasesOptions {
  readonly postgres: Postgres;
  /** Names this gateway and its folder of homes; two that run at the same time never share it. */
  readonly owner: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** For how long a claim and each renewal hold, ms. @default 15 s */
  readonly leaseMs?: number;
  /** The highest version of the journal's schema that this program knows. */
  readonly schema: number;
  /** Claims homes that this folder has, to move them in; null: those that the database has. @default null */
  readonly keptBy?: string | null;
}

/** What a claim found. */
export interface Claimed {
  /** Write transactions of the home so far. */
  readonly revision: number;
  /** When the last of them was, µs since 1970 by the clock of the database; null: there was none. */
  readonly written: number | null;
  /** Steps of the journal's schema that its rows have seen; 0: the home is new. */
  readonly schema: number;
  /** See `HomeLoad`, as the gateway before noted it. */
  readonly load: number;
}

/** For how long a claim and each renewal hold unless another time is chosen. */
export const LEASE_MS = 15_000;
/** Of a row of `assistant.homes`: when its last write transaction was, µs since 1970. */
export const WRITTEN = '(extract(epoch FROM written_at) * 1000000)::bigint';
/** A lease counts as ended here after this part of it, because clocks differ in speed and a send takes its time. */
export const TRUSTED_PART = 0.8;
/** A lease is renewed after this part of it, and after a renewal that failed sooner. */
const RENEWED_PART = 1 / 3;
const RENEWED_AGAIN_PART = 1 / 10;

/**
 * The homes that this gateway runs. Each has a lease by the clock of the database, and an epoch that every claim raises:
 * what an earlier owner still sends is refused by its epoch (`HomeWriter`). One statement renews all; a home whose write
 * transaction runs at that moment is passed over, because that extends its lease itself.
 */
export class Leases implements Disposable {
  readonly #options: LeasesOptions;
  readonly #leaseMs: number;
  readonly #held = new Map<string, Lease>();
  #renewal: Disposable | undefined;
  #claiming: Promise<unknown> = Promise.resolve();
  #failedRenewals = 0;
  #closed = false;

  constructor(options: LeasesOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
  }

  /**
   * Claims a home, which is made when there is none of that name. Null: another gateway holds it, a folder
   * has it, or its rows need a newer program. A home that an earlier process of this owner held is claimed at once. Rejects as `Postgres` does.
   */
  async claim(name: string): Promise<Lease | null> {
    const { postgres } = this.#options;
    if (this.#held.has(name)) throw new Error(`the home ${name} is claimed already`);
    await postgres.query('INSERT INTO assistant.homes (name) VALUES ($1) ON CONFLICT DO NOTHING', [name]);
    const [lease] = await this.#inTurn(() => this.#claim('name = $5', [name]));
    return lease ?? null;
  }

  /**
   * Claims those of these whole homes that no gateway holds; not one that a gateway of one home runs or waits for. Rejects as
   * `Postgres` does.
   */
  async claimAll(names: readonly string[]): Promise<readonly Lease[]> {
    return await this.#inTurn(async () => {
      const others = names.filter((name) => !this.#held.has(name));
      if (others.length === 0) return [];
      const isReserved = `SELECT 1 FROM assistant.gateways
        WHERE only_home = homes.name AND owner <> $1 AND seen_until > clock_timestamp()`;
      return await this.#claim(`name = ANY($5::text[]) AND schema > 0 AND NOT EXISTS (${isReserved})`, [others]);
    });
  }

  /**
   * Gives all homes back at once, as `Lease.release` does one: for a process that ends and has no time to close each. Rejects as
   * `Postgres` does.
   */
  async releaseAll(): Promise<void> {
    await this.#release(Array.from(this.#held.values()));
  }

  /** Homes that this process runs. */
  get held(): number {
    return this.#held.size;
  }

  /** Of this process so far; each is tried again. */
  get failedRenewals(): number {
    return this.#failedRenewals;
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#renewal?.[Symbol.dispose]();
  }

  /** A claim may take what this owner holds, so it has to know of all that the claims before it took. */
  #inTurn<T>(claim: () => Promise<T>): Promise<T> {
    const result = this.#claiming.then(claim);
    this.#claiming = result.catch(() => {});
    return result;
  }

  async #claim(which: string, values: readonly unknown[]): Promise<readonly Lease[]> {
    const { postgres, owner, clock, schema, keptBy = null } = this.#options;
    const asked = { monotonic: clock.monotonic(), wall: clock.now() };
    const rows = await postgres.query(
      `WITH free AS (
         SELECT name, epoch, commits, revision FROM assistant.homes
         WHERE ${which} AND oldest_reader <= $3 AND kept_by IS NOT DISTINCT FROM $4::text
           AND (lease_until IS NULL OR lease_until <= clock_timestamp() OR owner = $1)
         FOR UPDATE SKIP LOCKED
       ), ended AS (
         INSERT INTO assistant.epochs (home, epoch, commits, revision)
         SELECT name, epoch, commits, revision FROM free WHERE epoch > 0 ON CONFLICT DO NOTHING
       )
       UPDATE assistant.homes AS home
       SET epoch = home.epoch + 1, commits = 0, owner = $1, is_leaving = false, lease_until = clock_timestamp() + $2 * interval '1 ms'
       FROM free WHERE home.name = free.name
       RETURNING home.name, home.epoch, home.revision, ${WRITTEN} AS written, home.schema, home.load`,
      [owner, this.#leaseMs, schema, keptBy, ...values],
    );
    return rows.map((row) => this.#hold(row, asked));
  }

  #hold(row: StoredRow, asked: Asked): Lease {
    const lease = new Lease(
      {
        name: String(row['name']),
        epoch: Number(row['epoch']),
        claimed: {
          revision: Number(row['revision']),
          written: row['written'] === null ? null : Number(row['written']),
          schema: Number(row['schema']),
          load: Number(row['load']),
        },
        leaseMs: this.#leaseMs,
        clock: this.#options.clock,
      },
      {
        renew: (one) => this.#renew([one]),
        release: (one) => this.#release([one]),
        lost: (one, reason) => this.#lost(one, reason),
      },
    );
    lease.extended(asked);
    this.#held.set(lease.name, lease);
    this.#renewLater();
    return lease;
  }

  #renewLater(part = RENEWED_PART): void {
    if (this.#closed || this.#held.size === 0) return;
    this.#renewal ??= this.#options.clock.timer(this.#leaseMs * part, () => {
      this.#renewal = undefined;
      this.#renew(Array.from(this.#held.values())).then(
        () => this.#renewLater(),
        (error: unknown) => {
          this.#failedRenewals += 1;
          this.#options.log.warn('homes: leases not renewed', { reason: errorMessage(error) });
          this.#renewLater(RENEWED_AGAIN_PART);
        },
      );
    });
  }

  /**
   * A lease that ran out is renewed too as long as no one else claimed the home. Those with another epoch are lost. One that was given
   * back has no owner: a renewal that arrives late, on another connection, must not hold it for nobody.
   */
  async #renew(leases: readonly Lease[]): Promise<void> {
    const { postgres, clock, owner } = this.#options;
    const held = leases.filter((lease) => this.#held.get(lease.name) === lease);
    if (held.length === 0) return;
    const asked = { monotonic: clock.monotonic(), wall: clock.now() };
    const rows = await postgres.query(
      `WITH mine AS (
         SELECT home.name, home.epoch, mine.load, mine.leaving FROM assistant.homes AS home
         JOIN unnest($1::text[], $2::bigint[], $4::float8[], $5::boolean[]) AS mine (name, epoch, load, leaving) ON home.name = mine.name AND home.epoch = mine.epoch
         WHERE home.owner = $6
       ), free AS (
         SELECT home.name, mine.load, mine.leaving FROM assistant.homes AS home JOIN mine ON home.name = mine.name AND home.epoch = mine.epoch
         WHERE home.owner = $6 FOR UPDATE OF home SKIP LOCKED
       ), renewed AS (
         UPDATE assistant.homes AS home
         SET lease_until = clock_timestamp() + $3 * interval '1 ms', load = free.load, is_leaving = free.leaving
         FROM free WHERE home.name = free.name RETURNING home.name
       )
       SELECT mine.name, renewed.name IS NOT NULL AS renewed FROM mine LEFT JOIN renewed ON renewed.name = mine.name`,
      [
        held.map(({ name }) => name),
        held.map(({ epoch }) => epoch),
        this.#leaseMs,
        held.map(({ load }) => load.now()),
        held.map(({ isLeaving }) => isLeaving),
        owner,
      ],
    );
    const found = new Map(rows.map((row) => [String(row['name']), row['renewed'] === true]));
    for (const lease of held) {
      const isRenewed = found.get(lease.name);
      if (isRenewed === true) lease.extended(asked);
      else if (isRenewed === undefined && this.#held.get(lease.name) === lease) this.#lost(lease);
    }
  }

  #lost(lease: Lease, reason = homeLost(lease.name)): void {
    if (lease.lost.aborted) return;
    if (this.#held.get(lease.name) === lease) this.#held.delete(lease.name);
    const facts = { home: lease.name, epoch: lease.epoch };
    if (reason.code === 'home-lost') this.#options.log.error('homes: another gateway took the home', facts);
    else this.#options.log.error('homes: the home is lost here', { ...facts, reason: reason.message });
    lease.ended(reason);
  }

  async #release(leases: readonly Lease[]): Promise<void> {
    const held = leases.filter((lease) => this.#held.get(lease.name) === lease);
    if (held.length === 0) return;
    for (const lease of held) {
      this.#held.delete(lease.name);
      lease.ended(homeReleased(lease.name));
    }
    await this.#options.postgres.query(
      `UPDATE assistant.homes AS home SET lease_until = clock_timestamp(), owner = NULL
       FROM unnest($1::text[], $2::bigint[]) AS mine (name, epoch) WHERE home.name = mine.name AND home.epoch = mine.epoch`,
      [held.map(({ name }) => name), held.map(({ epoch }) => epoch)],
    );
  }
}

/** When a claim or renewal was sent: its lease is not longer than if it had begun there. */
interface Asked {
  readonly monotonic: number;
  readonly wall: number;
}

interface LeaseActions {
  readonly renew: (lease: Lease) => Promise<void>;
  readonly release: (lease: Lease) => Promise<void>;
  readonly lost: (lease: Lease, reason?: AppError) => void;
}

/** One home that this gateway runs, until `lost` aborts. */
export class Lease {
  readonly name: string;
  readonly epoch: number;
  readonly claimed: Claimed;
  readonly leaseMs: number;
  readonly load: HomeLoad;
  #isLeaving = false;
  readonly #clock: Clock;
  readonly #actions: LeaseActions;
  readonly #end = new AbortController();
  #until: Asked = { monotonic: -Infinity, wall: -Infinity };

  constructor(
    facts: Pick<Lease, 'name' | 'epoch' | 'claimed' | 'leaseMs'> & { readonly clock: Clock },
    actions: LeaseActions,
  ) {
    this.name = facts.name;
    this.epoch = facts.epoch;
    this.claimed = facts.claimed;
    this.leaseMs = facts.leaseMs;
    this.load = new HomeLoad(facts.clock, facts.claimed.load);
    this.#clock = facts.clock;
    this.#actions = actions;
  }

  /**
   * Whether the home is this gateway's for certain: false when the lease may have run out, by the monotonic clock or, because
   * that stands still while a machine sleeps, by the wall clock. Ask it right before anything leaves the process.
   */
  get isHeld(): boolean {
    return !this.lost.aborted && this.leftMs > 0;
  }

  /** For how long it is certain that the lease holds, unless it is renewed; ms, not above 0: it is not. */
  get leftMs(): number {
    const { monotonic, wall } = this.#until;
    return Math.min(monotonic - this.#clock.monotonic(), wall - this.#clock.now());
  }

  /** Aborts, with `home-lost` or `home-released`, when the home is no longer this gateway's. */
  get lost(): AbortSignal {
    return this.#end.signal;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Tells the other gateways that the home will be handed over soon; rejects as `Postgres` does, and then goes with a renewal. */
  leave(): Promise<void> {
    this.#isLeaving = true;
    return this.#actions.renew(this);
  }

  /**
   * Renews it now; rejects as `Postgres` does. Afterwards `isHeld` holds, or `lost` is aborted, or a write transaction of the home
   * runs, which extends it.
   */
  renew(): Promise<void> {
    return this.#actions.renew(this);
  }

  /** Gives the home back: the next gateway may claim it at once. What was not written before is refused. */
  release(): Promise<void> {
    return this.#actions.release(this);
  }

  /** A transaction found another epoch, or what `reason` says; then `lost` aborts. */
  refused(reason?: AppError): void {
    this.#actions.lost(this, reason);
  }

  /** A claim, a renewal or a write transaction that was sent at this moment made the lease last from then on. */
  extended(asked: Asked): void {
    const trusted = this.leaseMs * TRUSTED_PART;
    this.#until = {
      monotonic: Math.max(this.#until.monotonic, asked.monotonic + trusted),
      wall: asked.wall + trusted,
    };
  }

  ended(reason: AppError): void {
    this.#end.abort(reason);
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { seeded } from './crash-process.ts';
import type { StormHome } from './home-platforms.ts';
import { homeStorm, type HomeStormReport } from './home-storm.ts';
import { startPair, type Pair } from './postgres-pair.ts';
import { waitFor } from './wait.ts';

export interface FailoverPlan {
  /** Where the programs of PostgreSQL are. */
  readonly programs: string;
  readonly failovers: number;
  readonly seed: number;
  readonly leaseSeconds: number;
  /** Told after each failover. */
  readonly onFailover?: (line: string) => void;
}

export interface FailoverReport extends HomeStormReport {
  /** Of a client beside the gateways: transactions that it was told to be committed, and those of them that are not there. */
  readonly committed: number;
  readonly vanished: readonly number[];
  /** From the end of the primary to the next message that people got, ms: the longest. */
  readonly silentMs: number;
}

/** Most that is waited between two failovers after something moved, ms. */
const LIFE_MS = 2_000;
/** How long a primary that was frozen goes on beside the new one, ms, at most. */
const SPLIT_MS = 3_000;

/**
 * Two gateways share a home in a PostgreSQL whose primary is killed, or frozen and thawed after the promotion, again and again, while
 * people write all the time. Counts when all is answered.
 */
export async function failoverStorm({
  programs,
  failovers,
  onFailover,
  ...plan
}: FailoverPlan): Promise<FailoverReport> {
  const random = seeded(plan.seed);
  await using pair = await startPair(programs);
  const url = await pair.database();
  await using ledger = await Ledger.open(url);
  const writing = ledger.write();
  let silentMs = 0;
  const fail = async (homes: readonly StormHome[]): Promise<void> => {
    const sent = (): number => homes.reduce((sum, home) => sum + home.texts().length, 0);
    for (let n = 0; n < failovers; n += 1) {
      const seen = sent();
      await waitFor(() => sent() > seen, { what: 'progress' });
      await delay(random() * LIFE_MS);
      const isFrozen = (n + plan.seed) % 2 === 0;
      const [before, began] = [sent(), performance.now()];
      await failOver(pair, isFrozen, random() * SPLIT_MS);
      await waitFor(() => sent() > before, { what: 'a message after the failover' });
      const tookMs = Math.round(performance.now() - began);
      silentMs = Math.max(silentMs, tookMs);
      const what = isFrozen ? 'frozen' : 'killed';
      onFailover?.(`${n + 1}: ${what}, answered after ${tookMs} ms, ${sent()} messages, ${ledger.acknowledged} rows`);
    }
  };
  const report = await homeStorm({
    ...plan,
    url,
    homes: { telegram: 1 },
    people: 4,
    everyMs: 1_000,
    gateways: 'pairs',
    faults: 0,
    awayMs: 0,
    betweenMs: 0,
    afterwards: fail,
  });
  ledger.stop();
  await writing;
  return { ...report, committed: ledger.acknowledged, vanished: await ledger.vanished(), silentMs };
}

/** A primary that was frozen goes on for a while when the other one was promoted, with all connections that it had. */
async function failOver(pair: Pair, isFrozen: boolean, splitMs: number): Promise<void> {
  await (isFrozen ? pair.freeze() : pair.kill());
  await pair.promote();
  if (isFrozen) {
    await pair.thaw();
    await delay(splitMs);
  }
  await pair.rebuild();
}

/** A client that writes numbers, one after the other, and remembers which ones it was told to be committed. */
class Ledger implements AsyncDisposable {
  readonly #postgres: Postgres;
  #stopped = false;
  acknowledged = 0;

  private constructor(postgres: Postgres) {
    this.#postgres = postgres;
  }

  static async open(url: string): Promise<Ledger> {
    const postgres = await Postgres.open(url, { clock: systemClock });
    await postgres.query('CREATE TABLE public.ledger (n int PRIMARY KEY)');
    return new Ledger(postgres);
  }

  /** Until it is stopped. A number is repeated until it is committed. */
  async write(): Promise<void> {
    while (!this.#stopped) {
      const n = this.acknowledged + 1;
      const insert = {
        text: 'INSERT INTO public.ledger VALUES ($1) ON CONFLICT (n) DO UPDATE SET n = excluded.n',
        values: [n],
      };
      await this.#postgres.transaction([insert]).then(
        () => (this.acknowledged = n),
        () => delay(20),
      );
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async vanished(): Promise<readonly number[]> {
    const rows = await this.#postgres.query(
      'SELECT n FROM generate_series(1, $1) AS n WHERE n NOT IN (SELECT n FROM public.ledger)',
      [this.acknowledged],
    );
    return rows.map(({ n }) => Number(n));
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    return this.#postgres[Symbol.asyncDispose]();
  }
}

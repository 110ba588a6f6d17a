import type { Clock } from '../util/clock.ts';
import type { Database } from '../storage/database.ts';

/** Those of these starts, ms since 1970, that count. */
export function recentStarts(starts: readonly number[], now: number): readonly number[] {
  return starts.filter((at) => at <= now && at > now - WINDOW_MS);
}

/** Whether so many recent starts mean that the process dies again and again. */
export function isCrashLoop(recent: number): boolean {
  return recent > MOST_STARTS;
}

/** More starts than this within `WINDOW_MS` are a crash loop. */
const MOST_STARTS = 5;
const WINDOW_MS = 5 * 60_000;
/** At most this many rows are kept. */
const MOST_ROWS = 20;

/**
 * The starts in a row after which the process died. An orderly stop ends the row, and so does a process that stayed up for
 * long (`calm`).
 */
export class Starts {
  /** How many processes in a row died before this one. */
  readonly unclean: number;
  /** The process is in a crash loop, so it should start in safe mode. */
  readonly isLoop: boolean;
  /** When the first start of the row was, ms since 1970; also the id of the row. */
  readonly since: number;
  /** How many starts of the row are within the window. */
  readonly recent: number;
  readonly #db: Database;
  readonly #clock: Pick<Clock, 'now'>;
  #isCalm = false;

  private constructor(db: Database, clock: Pick<Clock, 'now'>, counted: number) {
    this.#db = db;
    this.#clock = clock;
    const starts = db.all('SELECT at FROM starts ORDER BY rowid').map((row) => row.number('at'));
    const now = clock.now();
    this.unclean = Math.max(0, starts.length - 1);
    this.since = starts[0] ?? now;
    this.recent = Math.max(counted, recentStarts(starts, now).length);
    this.isLoop = isCrashLoop(this.recent);
  }

  /**
   * Counts this start. Call it before the journal is marked as open by this process. `died`: the process before didn't stop in
   * order. One that did on a full disk left the journal open. `counted`: the recent starts, with those that died before they came here.
   */
  static async open(
    db: Database,
    clock: Pick<Clock, 'now'>,
    { died, counted = 0 }: { readonly died: boolean; readonly counted?: number },
  ): Promise<Starts> {
    await db.write(() => {
      if (!died) db.run('DELETE FROM starts');
      db.run('INSERT INTO starts (at) VALUES (?)', clock.now());
      db.run('DELETE FROM starts WHERE rowid <= (SELECT max(rowid) FROM starts) - ?', MOST_ROWS);
    });
    return new Starts(db, clock, counted);
  }

  /**
   * A process died before this one, which is not up for long yet. Turns are counted durably then before they do anything: one that
   * ends the process at once is counted too where a power loss, or another gateway that takes the home over, loses the newest rows.
   */
  get isDoubted(): boolean {
    return this.unclean > 0 && !this.#isCalm;
  }

  /** Ends the row, because the process stayed up long enough. */
  calm(): Promise<void> {
    this.#isCalm = true;
    return this.#db.write(() => {
      this.#db.run('DELETE FROM starts');
      this.#db.run('INSERT INTO starts (at) VALUES (?)', this.#clock.now());
      this.#db.run(
        `UPDATE turns INDEXED BY turns_open SET attempts = min(attempts, 1), resumed = 0
         WHERE state IN ('running', 'stopping') AND state = 'running'`,
      );
    });
  }
}

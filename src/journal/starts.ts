import type { Clock } from '../util/clock.ts';
import type { Database } from '../storage/database.ts';
import { wasLeftOpen } from './power-loss.ts';

/** More starts than this within the window are a loop. */
const MOST_STARTS = 5;
const WINDOW_MS = 5 * 60_000;
/** Rows that are kept. */
const MOST_ROWS = 20;

/**
 * The starts since the last process that closed the journal in order: how often in a row the process died instead. An
 * orderly stop ends the row, and so does a process that stayed up for long (`calm`).
 */
export class Starts {
  /** How many processes before this one died in a row. */
  readonly unclean: number;
  /** It died so often within a few minutes that only what is needed to talk should run. */
  readonly isLoop: boolean;
  /** When the first of the row began, ms since 1970: names the row. */
  readonly since: number;
  /** How many starts of the row are within the window. */
  readonly recent: number;
  readonly #db: Database;
  readonly #clock: Pick<Clock, 'now'>;

  private constructor(db: Database, clock: Pick<Clock, 'now'>) {
    this.#db = db;
    this.#clock = clock;
    const starts = db.all('SELECT at FROM starts ORDER BY rowid').map((row) => row.number('at'));
    const now = clock.now();
    this.unclean = Math.max(0, starts.length - 1);
    this.since = starts[0] ?? now;
    this.recent = starts.filter((at) => at <= now && at > now - WINDOW_MS).length;
    this.isLoop = this.recent > MOST_STARTS;
  }

  /** Counts this start. Call it before the journal is marked as open by this process. */
  static async open(db: Database, clock: Pick<Clock, 'now'>): Promise<Starts> {
    const died = wasLeftOpen(db);
    await db.write(() => {
      if (!died) db.run('DELETE FROM starts');
      db.run('INSERT INTO starts (at) VALUES (?)', clock.now());
      db.run('DELETE FROM starts WHERE rowid <= (SELECT max(rowid) FROM starts) - ?', MOST_ROWS);
    });
    return new Starts(db, clock);
  }

  /** The process has stayed up: what comes now is a new row, and nothing that runs is to blame for what was. */
  calm(): Promise<void> {
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

import { readFileSync, rmSync, writeFileSync, renameSync } from 'node:fs';
import { replaceDurable } from '../storage/files.ts';
import type { Clock } from '../util/clock.ts';

/** More starts than this within `WINDOW_MS` are a crash loop. */
const MOST_STARTS = 5;
const WINDOW_MS = 5 * 60_000;
/** At most this many are kept. */
const MOST_KEPT = 20;

/**
 * The starts in a row after which the process died. They are in a file beside the journal, because packages, which may be what
 * kills the process, are loaded before the journal is opened. An orderly stop ends the row, and so does a process that stayed up
 * for long (`calm`).
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
  readonly #path: string | null;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #before: readonly number[];
  #isCalm = false;

  /** `path`: the file; null: nothing is kept. `before`: the starts in the row before this one, ms since 1970, oldest first. */
  constructor(path: string | null, clock: Pick<Clock, 'now'>, before: readonly number[] = []) {
    this.#path = path;
    this.#clock = clock;
    this.#before = before;
    const now = clock.now();
    this.unclean = before.length;
    this.since = before[0] ?? now;
    this.recent = before.filter((at) => at <= now && at > now - WINDOW_MS).length + 1;
    this.isLoop = this.recent > MOST_STARTS;
  }

  /** Counts this start, durably where the disk takes writes. Call it before anything runs that may end the process. */
  static async count(path: string, clock: Pick<Clock, 'now'>): Promise<Starts> {
    const before = readStarts(path);
    const starts = new Starts(path, clock, before);
    await starts.#write([...before, clock.now()].slice(-MOST_KEPT));
    return starts;
  }

  /**
   * A process died before this one, which is not up for long yet. Turns are counted durably then before they do anything: one that
   * ends the process at once is counted too where a power loss, or another gateway that takes the home over, loses the newest rows.
   */
  get isDoubted(): boolean {
    return this.unclean > 0 && !this.#isCalm;
  }

  /** Ends the row, because the process stayed up long enough. */
  async calm(): Promise<void> {
    this.#isCalm = true;
    await this.#write([this.#clock.now()]);
  }

  /** Ends the row, because the process stops in order. One that could not start only takes itself back. Never throws. */
  end({ ran }: { readonly ran: boolean }): void {
    if (this.#path === null) return;
    try {
      if (ran || this.#before.length === 0) rmSync(this.#path, { force: true });
      else {
        writeFileSync(`${this.#path}.new`, this.#before.join(' '), { mode: 0o600 });
        renameSync(`${this.#path}.new`, this.#path);
      }
    } catch {
      // On a read-only disk it counts as a death.
    }
  }

  async #write(starts: readonly number[]): Promise<void> {
    if (this.#path === null) return;
    await replaceDurable(this.#path, starts.join(' ')).catch(() => {
      // The disk is full. What needs it says so.
    });
  }
}

/** The starts that a file counts, ms since 1970, oldest first: those that died, and the one of the process that runs. */
export function readStarts(path: string): readonly number[] {
  try {
    return readFileSync(path, 'utf8')
      .split(' ')
      .map(Number)
      .filter((at) => at > 0);
  } catch {
    return [];
  }
}

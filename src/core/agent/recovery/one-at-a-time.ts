import { raceAbort, type Clock } from '../../util/clock.ts';

/** A turn that has run this long, ms, does not crash the process immediately: the next may begin. */
const PROBATION_MS = 120_000;

/** The permission for one suspected turn to run alone. Disposing lets the next begin. */
export interface Probation extends Disposable {
  /**
   * Call when the turn begins. The next turn may begin when this one has ended (dispose of the probation), when it
   * waits for a person (dispose of the returned value), or two minutes after its place came; in the last two cases `proven` is called.
   */
  begin(proven: () => void): Disposable;
}

interface Place {
  readonly turn: string;
  readonly group: string;
  readonly comes: PromiseWithResolvers<void>;
}

/**
 * Lets suspected turns run one after another, so that a crash of the process can be blamed on one of them. A turn and the
 * subagents that it may wait for are one group, which runs together.
 */
export class OneAtATime {
  readonly #clock: Clock;
  readonly #waiting = new Set<Place>();
  /** All of one group. */
  readonly #taken = new Set<Place>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for the place of a turn. Of those that wait the oldest is next, by its id, so that none waits for ever where one process after
   * another ends soon. `group`: the turn at the top of those that wait for each other. Rejects when the signal aborts.
   */
  async place(turn: string, signal: AbortSignal, group = turn): Promise<Probation> {
    const place = { turn, group, comes: Promise.withResolvers<void>() };
    this.#waiting.add(place);
    this.#next();
    try {
      await raceAbort(place.comes.promise, signal);
    } catch (error) {
      this.#leave(place);
      throw error;
    }
    let proven: (() => void) | undefined;
    const end = (): void => {
      timer[Symbol.dispose]();
      this.#leave(place);
    };
    const pass = (): void => {
      if (!this.#taken.has(place)) return;
      end();
      proven?.();
    };
    // From here on, because what comes before the turn begins may wait for a disk or a database.
    const timer = this.#clock.timer(PROBATION_MS, pass);
    return {
      begin: (called) => {
        proven = called;
        return { [Symbol.dispose]: pass };
      },
      [Symbol.dispose]: end,
    };
  }

  #leave(place: Place): void {
    this.#waiting.delete(place);
    this.#taken.delete(place);
    this.#next();
  }

  #next(): void {
    const [running] = this.#taken;
    const [oldest] = Array.from(this.#waiting).toSorted((a, b) => (a.turn < b.turn ? -1 : 1));
    const next = running ?? oldest;
    for (const place of this.#waiting) {
      if (place.group !== next?.group) continue;
      this.#waiting.delete(place);
      this.#taken.add(place);
      place.comes.resolve();
    }
  }
}

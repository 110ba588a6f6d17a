import { request, numbersNamed } from './crash-talk.ts';
import type { StormHome } from './home-platforms.ts';
import { waitFor } from './wait.ts';

/** A message that somebody wrote. */
export interface Asked {
  readonly n: number;
  readonly home: string;
  readonly person: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As `StormHome.says` names it. */
  message: string;
}

/** Messages of a person without an answer at a time. */
const OUTSTANDING = 2;
/** A person who got no answer for so long writes again. */
const PATIENCE_MS = 20_000;
/** So many of the last texts of a home are looked at. */
const LATEST = 60;
const LOOK_EVERY_MS = 50;
const GREET_EVERY_MS = 3_000;

/** People who write all the time, each for himself, with a message or two unanswered. Numbers count over all homes, from 1. */
export class HomeTalk implements Disposable {
  readonly asked: Asked[] = [];
  readonly #homes: readonly StormHome[];
  readonly #random: () => number;
  readonly #everyMs: number;
  readonly #outstanding: number;
  readonly #answered = new Set<number>();
  /** Of each person: what is unanswered, and when the next message is due. */
  readonly #waiting = new Map<string, { open: Asked[]; nextAt: number }>();
  #timer: NodeJS.Timeout | undefined;

  /** `everyMs`: from a message of a person to the next one, in the middle. */
  constructor(
    homes: readonly StormHome[],
    {
      random,
      everyMs,
      outstanding = OUTSTANDING,
    }: { readonly random: () => number; readonly everyMs: number; readonly outstanding?: number },
  ) {
    this.#outstanding = outstanding;
    this.#homes = homes;
    this.#random = random;
    this.#everyMs = everyMs;
  }

  /**
   * Each person says hello until they are answered: a platform tells of somebody who has never written only while it is heard, and
   * homes still go from gateway to gateway.
   */
  async greet(): Promise<void> {
    for (const home of this.#homes) {
      for (let person = 0; person < home.people; person += 1) {
        let saidAt = -Infinity;
        const isAnswered = (): boolean => {
          if (home.texts().some((one) => one.person === person)) return true;
          if (performance.now() - saidAt > GREET_EVERY_MS) {
            saidAt = performance.now();
            home.says(person, 'hello');
          }
          return false;
        };
        await waitFor(isAnswered, { timeoutMs: 120_000, what: `the first answer of ${home.name}` });
      }
    }
  }

  begin(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Every person says one thing more. */
  sayOnce(): void {
    for (const home of this.#homes) {
      for (let person = 0; person < home.people; person += 1) this.say(home, person);
    }
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #look(): void {
    const now = Date.now();
    for (const home of this.#homes) {
      const latest = home.texts().slice(-LATEST);
      for (const { text } of latest) for (const n of numbersNamed(text)) this.#answered.add(n);
      for (let person = 0; person < home.people; person += 1) {
        const waiting = this.#of(home, person);
        waiting.open = waiting.open.filter(({ n, at }) => !this.#answered.has(n) && now - at < PATIENCE_MS);
        if (waiting.open.length < this.#outstanding && now >= waiting.nextAt) this.say(home, person);
      }
    }
  }

  /** A person says one thing more; returns its number. */
  say(home: StormHome, person: number): number {
    const one = { n: this.asked.length + 1, home: home.name, person, at: Date.now(), message: '' };
    this.asked.push(one);
    const waiting = this.#of(home, person);
    waiting.open.push(one);
    waiting.nextAt = one.at + 2 * this.#random() * this.#everyMs;
    one.message = home.says(person, request(one.n));
    return one.n;
  }

  #of(home: StormHome, person: number): { open: Asked[]; nextAt: number } {
    const key = `${home.name} ${person}`;
    const known = this.#waiting.get(key) ?? { open: [], nextAt: 0 };
    this.#waiting.set(key, known);
    return known;
  }
}

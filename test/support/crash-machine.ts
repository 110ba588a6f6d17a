import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ChildOptions } from './crash-process.ts';
import { diskEnvironment } from './disk-library.ts';
import { cutPower, keepAll } from './power-cut.ts';

/** A sync takes up to this long, milliseconds, so that kills and cuts fall into syncs too. */
const SYNC_MS = 12;

/** What a crash run's home lies on. Where its power is cut, each cut leaves another folder and begins another run. */
export class Machine implements AsyncDisposable {
  readonly #base: string;
  readonly #random: () => number;
  readonly #isCut: boolean;
  #cuts = 0;
  #starts = 0;
  #isKept = false;
  #inDoubt: readonly string[] = [];

  private constructor(base: string, options: { isCut: boolean; random: () => number }) {
    this.#base = base;
    this.#isCut = options.isCut;
    this.#random = options.random;
  }

  static async with(base: string, options: { isCut: boolean; random: () => number }): Promise<Machine> {
    const machine = new Machine(base, options);
    await mkdir(machine.home, { recursive: true, mode: 0o700 });
    return machine;
  }

  get home(): string {
    return `${this.#base}-${this.#cuts}`;
  }

  /** Texts of messages that, by what the last cut left, may or may not have been sent. */
  get inDoubt(): readonly string[] {
    return this.#inDoubt;
  }

  /** How a process on it is started. Where the power stays, every second one meets a slow disk. */
  async options(): Promise<ChildOptions> {
    this.#starts += 1;
    if (!this.#isCut) {
      const slow = this.#starts % 2 === 0 ? await diskEnvironment({ delayMs: SYNC_MS, random: true }) : undefined;
      return slow === undefined ? {} : { disk: slow };
    }
    if (!this.#isKept) await keepAll(this.home, this.#shadow);
    this.#isKept = true;
    const disk = await diskEnvironment({ home: this.home, delayMs: SYNC_MS, random: true, shadow: this.#shadow });
    if (disk === undefined) throw new Error('without a C compiler no power can be cut');
    return { disk, boot: `run ${this.#cuts}` };
  }

  /** The process on it was killed; with the power, what no sync covered is lost. */
  async lost(): Promise<void> {
    if (!this.#isCut) return;
    const { home } = this;
    const shadow = this.#shadow;
    this.#cuts += 1;
    this.#isKept = false;
    // What commands do is done in another process, which syncs it itself.
    const durable = [join('workspace', 'effects.txt')];
    await cutPower({ home, shadow, into: this.home, random: this.#random, durable });
    if (process.env['CRASH_KEEP'] === undefined) await rm(home, { recursive: true, maxRetries: 10, retryDelay: 50 });
    await rm(shadow, { recursive: true });
    using db = new DatabaseSync(join(this.home, 'state.db'), { readOnly: true });
    this.#inDoubt = db
      .prepare(
        "SELECT json_extract(payload, '$.text') AS text FROM outbound WHERE state IN ('pending', 'sending', 'uncertain')",
      )
      .all()
      .map((row) => String(row['text']).replaceAll('`', ''));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (process.env['CRASH_KEEP'] !== undefined) return;
    await rm(dirname(this.#base), { recursive: true, force: true, maxRetries: 5 });
  }

  get #shadow(): string {
    return `${this.#base}-shadow-${this.#cuts}`;
  }
}

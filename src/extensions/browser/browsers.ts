import { createHash } from 'node:crypto';
import { readdir, realpath, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, type Clock, errorMessage, type Logger, Slots } from '../../core/api.ts';
import { ensureDirectory, ifThere } from '../../core/api-files.ts';
import { Browser, type BrowserPorts } from './browser.ts';

export interface BrowsersOptions extends BrowserPorts {
  /** Where the profiles are, one folder for each session. */
  readonly folder: string;
  /** Browsers at the same time. */
  readonly most: number;
  /** After so long without a call a browser ends; its profile stays. */
  readonly idleMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Entry {
  readonly browser: Browser;
  idle: Disposable | undefined;
}

/** How long a profile stays that no one uses. */
const PROFILE_MS = 7 * 24 * 3_600_000;

/**
 * The browsers of all sessions, one for each. A browser ends with its session's stop, after a while without a call, and with
 * this process; a profile goes with its conversation, or when no one used it for a week.
 */
export class Browsers implements AsyncDisposable {
  readonly #options: BrowsersOptions;
  readonly #open = new Map<string, Entry>();
  readonly #lanes = new Map<string, Slots>();
  #starting = 0;

  constructor(options: BrowsersOptions) {
    this.#options = options;
  }

  /** The one of a session that runs now. */
  get(sessionKey: string): Browser | undefined {
    const browser = this.#open.get(sessionKey)?.browser;
    return browser?.isOver === true ? undefined : browser;
  }

  /** Works with the browser of a session, which is started where `starts` and none runs. Throws one sentence without one. */
  async use<T>(
    sessionKey: string,
    { starts, signal }: { readonly starts: boolean; readonly signal: AbortSignal },
    work: (browser: Browser) => Promise<T>,
  ): Promise<T> {
    const lane = this.#lanes.get(sessionKey) ?? new Slots(1);
    this.#lanes.set(sessionKey, lane);
    return await lane.run(async () => {
      const entry = await this.#entry(sessionKey, starts, signal);
      entry.idle?.[Symbol.dispose]();
      try {
        return await work(entry.browser);
      } finally {
        this.#waitIdle(sessionKey, entry);
      }
    }, signal);
  }

  /** Ends the browser of a session; `atOnce`: without writing down its newest cookies. Never rejects. */
  async close(sessionKey: string, atOnce = false): Promise<void> {
    const entry = this.#open.get(sessionKey);
    if (entry === undefined) return;
    this.#open.delete(sessionKey);
    entry.idle?.[Symbol.dispose]();
    const { browser } = entry;
    await (atOnce ? browser.kill() : browser[Symbol.asyncDispose]()).catch((error: unknown) =>
      this.#options.log.warn('browser: not ended cleanly', { reason: errorMessage(error) }),
    );
  }

  /** Ends the browser of a session and removes its profile, with all cookies. Never rejects. */
  async forget(sessionKey: string): Promise<void> {
    await this.close(sessionKey, true);
    this.#lanes.delete(sessionKey);
    await remove(this.#folder(sessionKey), this.#options.log);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open.keys()].map((sessionKey) => this.close(sessionKey)));
  }

  async #entry(sessionKey: string, starts: boolean, signal: AbortSignal): Promise<Entry> {
    const found = this.#open.get(sessionKey);
    if (found !== undefined && !found.browser.isOver) return found;
    await this.close(sessionKey);
    if (!starts)
      throw new AppError('browser-none', 'No page is open in the browser. Open one first, with the action open.');
    const { most } = this.#options;
    if (this.#open.size + this.#starting >= most) {
      throw new AppError(
        'browser-room',
        `${most} browsers run already for other conversations, which is the most (tools.browser.maxSessions). Try again later.`,
      );
    }
    this.#starting += 1;
    try {
      await this.#removeOld();
      const folder = this.#folder(sessionKey);
      await ensureDirectory(folder);
      const now = new Date(this.#options.clock.now());
      await utimes(folder, now, now);
      const entry = { browser: await Browser.start(await realpath(folder), this.#options, signal), idle: undefined };
      this.#open.set(sessionKey, entry);
      return entry;
    } finally {
      this.#starting -= 1;
    }
  }

  #waitIdle(sessionKey: string, entry: Entry): void {
    if (this.#open.get(sessionKey) !== entry) return;
    const { clock, idleMs } = this.#options;
    entry.idle = clock.timer(idleMs, () => void this.close(sessionKey));
  }

  #folder(sessionKey: string): string {
    const name = createHash('sha256').update(sessionKey).digest('hex').slice(0, 16);
    return join(this.#options.folder, name);
  }

  async #removeOld(): Promise<void> {
    const { folder, clock, log } = this.#options;
    for (const name of (await ifThere(readdir(folder))) ?? []) {
      const facts = await ifThere(stat(join(folder, name)));
      if (facts !== undefined && facts.mtimeMs < clock.now() - PROFILE_MS) await remove(join(folder, name), log);
    }
  }
}

async function remove(folder: string, log: Logger): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch((error: unknown) =>
    log.warn('browser: profile not removed', { reason: errorMessage(error) }),
  );
}

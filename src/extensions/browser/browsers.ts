import { createHash } from 'node:crypto';
import { readdir, realpath, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type App, AppError, errorMessage, Slots } from '../../core/api.ts';
import { ensureDirectory, ifThere } from '../../core/api-files.ts';
import type { Browser } from './browser.ts';
import { browser } from './settings.ts';

interface Session {
  /** Its calls run one after the other. */
  readonly lane: Slots;
  /** A page was told something that the model made, so pages may repeat it. It outlives the browser. */
  wasTold: boolean;
  /** Counts as a browser. */
  isStarting: boolean;
  browser?: Browser;
  idle?: Disposable;
}

/** How long a profile stays that no one uses. */
const PROFILE_MS = 7 * 24 * 3_600_000;

/**
 * The browsers of all sessions, one for each. A browser ends with its session's stop, after a while without a call, and with
 * this process; a profile goes with its conversation, or when no one used it for a week.
 */
export class Browsers implements AsyncDisposable {
  readonly #app: App;
  /** Starts one with its profile in a folder. */
  readonly #start: (folder: string) => Promise<Browser>;
  readonly #sessions = new Map<string, Session>();

  constructor(app: App, start: (folder: string) => Promise<Browser>) {
    this.#app = app;
    this.#start = start;
  }

  /** The one of a session that runs now. */
  get(sessionKey: string): Browser | undefined {
    const browser = this.#sessions.get(sessionKey)?.browser;
    return browser?.isOver === true ? undefined : browser;
  }

  /** Works with the browser of a session, which is started where `starts` and none runs. Throws one sentence without one. */
  async use<T>(
    sessionKey: string,
    { starts, signal }: { readonly starts: boolean; readonly signal: AbortSignal },
    work: (browser: Browser) => Promise<T>,
  ): Promise<T> {
    const session = this.#session(sessionKey);
    return await session.lane.run(async () => {
      const browser = this.get(sessionKey) ?? (await this.#started(sessionKey, session, starts));
      session.idle?.[Symbol.dispose]();
      try {
        return await work(browser);
      } finally {
        const { clock } = this.#app;
        const idleMs = this.#settings.idleMinutes * 60_000;
        if (session.browser === browser) session.idle = clock.timer(idleMs, () => void this.close(sessionKey));
      }
    }, signal);
  }

  /** Whether pages may repeat what the model made; `now`: from now on they may. */
  wasTold(sessionKey: string, now: boolean): boolean {
    const session = this.#session(sessionKey);
    session.wasTold ||= now;
    return session.wasTold;
  }

  /** Ends the browser of a session; `atOnce`: without writing down its newest cookies. Never rejects. */
  async close(sessionKey: string, atOnce = false): Promise<void> {
    const session = this.#sessions.get(sessionKey);
    const browser = session?.browser;
    if (session === undefined || browser === undefined) return;
    delete session.browser;
    session.idle?.[Symbol.dispose]();
    await browser.end(atOnce).catch((error: unknown) => {
      this.#app.log.warn('browser: not ended cleanly', { reason: errorMessage(error) });
    });
  }

  /** Ends the browser of a session and removes its profile, with all cookies. Never rejects. */
  async forget(sessionKey: string): Promise<void> {
    await this.close(sessionKey, true);
    this.#sessions.delete(sessionKey);
    await this.#remove(this.#folder(sessionKey));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((sessionKey) => this.close(sessionKey)));
  }

  get #settings(): ReturnType<typeof browser.of> {
    return this.#app.settingsOf(browser);
  }

  /** Where the profiles are, one folder for each session. */
  get #profiles(): string {
    return join(this.#app.paths.browser, 'sessions');
  }

  #session(sessionKey: string): Session {
    const known = this.#sessions.get(sessionKey);
    if (known !== undefined) return known;
    const session: Session = { lane: new Slots(1), wasTold: false, isStarting: false };
    this.#sessions.set(sessionKey, session);
    return session;
  }

  async #started(sessionKey: string, session: Session, starts: boolean): Promise<Browser> {
    await this.close(sessionKey);
    if (!starts)
      throw new AppError('browser-none', 'No page is open in the browser. Open one first, with the action open.');
    const most = this.#settings.maxSessions;
    const running = [...this.#sessions.values()].filter((one) => one.isStarting || one.browser !== undefined).length;
    if (running >= most) {
      throw new AppError(
        'browser-room',
        `${most} browsers run already for other conversations, which is the most (tools.browser.maxSessions). Try again later.`,
      );
    }
    session.isStarting = true;
    try {
      await this.#removeOld();
      const folder = this.#folder(sessionKey);
      await ensureDirectory(folder);
      const now = new Date(this.#app.clock.now());
      await utimes(folder, now, now);
      session.browser = await this.#start(await realpath(folder));
      return session.browser;
    } finally {
      session.isStarting = false;
      // The conversation was forgotten meanwhile.
      if (this.#sessions.get(sessionKey) !== session) await session.browser?.end(true);
    }
  }

  #folder(sessionKey: string): string {
    const name = createHash('sha256').update(sessionKey).digest('hex').slice(0, 16);
    return join(this.#profiles, name);
  }

  async #removeOld(): Promise<void> {
    const oldest = this.#app.clock.now() - PROFILE_MS;
    for (const name of (await ifThere(readdir(this.#profiles))) ?? []) {
      const folder = join(this.#profiles, name);
      const facts = await ifThere(stat(folder));
      if (facts !== undefined && facts.mtimeMs < oldest) await this.#remove(folder);
    }
  }

  async #remove(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch((error: unknown) =>
      this.#app.log.warn('browser: profile not removed', { reason: errorMessage(error) }),
    );
  }
}

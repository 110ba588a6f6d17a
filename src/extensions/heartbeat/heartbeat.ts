import { join } from 'node:path';
import { errorMessage, oneLine, type App } from '../../core/api.ts';
import { readIfExists } from '../../core/api-files.ts';
import { localText } from '../../core/api-time.ts';
import { isActive } from './active-hours.ts';
import { HEARTBEAT_SESSION, heartbeatRequest, type HeartbeatTarget } from './message.ts';
import { openTasks, shownTasks } from './open-tasks.ts';
import { Looks } from './looks.ts';
import { heartbeat } from './settings.ts';

/** What a cheap look at the tasks is told. */
export interface LookFacts {
  /** Of the look, ms since 1970. */
  readonly at: number;
  readonly tasks: string;
  /** In words, in the person's zone. */
  readonly now: string;
  /** What was done last and when; null: nothing yet. */
  readonly before: string | null;
}

export type LookAnswer =
  | { readonly action: 'skip'; readonly reason: string }
  | { readonly action: 'run'; readonly tasks: string }
  /** `refused`: the key was not taken, or no credit is left. */
  | { readonly action: 'failed' | 'refused'; readonly reason: string };

/** What it asks others before it does something. */
export interface HeartbeatGates {
  /** Null: no one can be told. */
  readonly target: () => HeartbeatTarget | null;
  readonly budgetLeft: (at: number) => Promise<boolean>;
  /** Whether strangers had a part in the text of HEARTBEAT.md. */
  readonly fromStrangers: (text: string) => Promise<boolean>;
  /** Asks a model, cheaply, whether something is to be done now. Never throws. */
  readonly look: (facts: LookFacts) => Promise<LookAnswer>;
  /** Tells the owner once for each id. */
  readonly tellOwner: (id: string, text: string) => Promise<void>;
}

/** Why nothing was done at the last look. */
export type Closed = 'resting' | 'hours' | 'nothing-open' | 'no-target' | 'busy' | 'budget';

const MINUTE_MS = 60_000;
/** The longest that it sleeps: a machine that slept, or a clock that was put, is noticed so soon. */
const LONGEST_SLEEP_MS = MINUTE_MS;
/** So often the model's server may refuse before it rests. */
const PAUSE_AFTER = 3;
const PAUSE_MS = 24 * 3_600_000;
const LONGEST_REASON = 400;

/**
 * Checks the open tasks at intervals. Two questions to a model are always a whole interval apart, also across restarts;
 * without an open task no model is asked at all.
 */
export class Heartbeat {
  readonly #app: App;
  readonly #gates: HeartbeatGates;
  readonly #looks: Looks;
  #timer: Disposable | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;
  /** On the monotonic clock and on the wall clock: when it last looked, or counts as having looked. */
  #since = 0;
  #clockSince = 0;
  #closed: Closed | null = null;
  #paused = false;

  constructor(app: App, gates: HeartbeatGates) {
    this.#app = app;
    this.#gates = gates;
    this.#looks = new Looks(app.journal);
  }

  /** Why nothing was done at the last look; null: a model was asked. */
  get closed(): Closed | null {
    return this.#closed;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** The first look comes a minute after the start, or when the interval since the last one is over. */
  async start(): Promise<void> {
    const { clock } = this.#app;
    const last = this.#looks.newest(1)[0];
    this.#paused = this.#looks.refused().count >= PAUSE_AFTER;
    const interval = this.#interval();
    const rest = last === undefined ? 0 : last.at + interval - clock.now();
    const wait = Math.min(interval, Math.max(rest, MINUTE_MS));
    this.#since = clock.monotonic() + wait - interval;
    this.#clockSince = clock.now() + wait - interval;
    await this.look();
  }

  /** Looks if it is time; resolves when it did. Never throws. */
  async look(): Promise<void> {
    if (this.#stopped) return;
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    await this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { clock, log } = this.#app;
    try {
      if (this.#isDue()) await this.#beat();
      else this.#closed ??= 'resting';
    } catch (error) {
      this.#passed();
      log.error('heartbeat: open tasks not read', { reason: errorMessage(error) });
    }
    this.#timer?.[Symbol.dispose]();
    if (this.#stopped) return;
    const left = this.#since + this.#interval() - clock.monotonic();
    const sleepMs = left <= 0 ? LONGEST_SLEEP_MS : Math.min(left, LONGEST_SLEEP_MS);
    this.#timer = clock.timer(sleepMs, () => void this.look());
  }

  /** The wall clock counts too: the monotonic clock stands still while the machine sleeps. */
  #isDue(): boolean {
    const { clock } = this.#app;
    const interval = this.#interval();
    return clock.monotonic() - this.#since >= interval || clock.now() - this.#clockSince >= interval;
  }

  #interval(): number {
    return this.#paused ? PAUSE_MS : this.#settings.everyMinutes * MINUTE_MS;
  }

  get #settings(): ReturnType<typeof heartbeat.of> {
    return this.#app.settingsOf(heartbeat);
  }

  #passed(): void {
    const { clock } = this.#app;
    this.#since = clock.monotonic();
    this.#clockSince = clock.now();
  }

  async #beat(): Promise<void> {
    const { clock, paths, journal } = this.#app;
    const at = clock.now();
    if (!isActive(this.#settings.activeHours, at, this.#app.zone())) return this.#skip('hours');
    const text = (await readIfExists(join(paths.workspace, 'HEARTBEAT.md'))) ?? '';
    const tasks = openTasks(text);
    if (tasks === '') return this.#skip('nothing-open');
    const target = this.#gates.target();
    if (target === null) return this.#skip('no-target');
    if (journal.turns.isBusy([HEARTBEAT_SESSION, target.sessionKey])) {
      // It stays due, and is tried again in a minute.
      this.#closed = 'busy';
      return;
    }
    if (!(await this.#gates.budgetLeft(at))) return this.#skip('budget');
    await this.#ask(at, target, { text, tasks });
  }

  #skip(why: Closed): void {
    this.#closed = why;
    this.#passed();
  }

  async #ask(
    at: number,
    target: HeartbeatTarget,
    { text, tasks }: { readonly text: string; readonly tasks: string },
  ): Promise<void> {
    const looks = this.#looks;
    const before = this.#before();
    await looks.begin(at);
    this.#closed = null;
    this.#passed();
    const answer = await this.#gates.look({
      at,
      tasks: shownTasks(tasks),
      now: localText(at, this.#app.zone()),
      before,
    });
    if (this.#stopped) return;
    if (answer.action !== 'refused') this.#paused = false;
    if (answer.action !== 'run') {
      await looks.end(at, { action: answer.action, reason: oneLine(answer.reason, LONGEST_REASON) });
      if (answer.action === 'refused') await this.#tellRefused(answer.reason);
      return;
    }
    const untrusted = await this.#gates.fromStrangers(text);
    const id = this.#app.newId();
    const request = { id, at, tasks: answer.tasks, model: this.#settings.model, untrusted };
    const reason = oneLine(answer.tasks, LONGEST_REASON);
    await looks.end(at, { action: 'run', reason }, heartbeatRequest(target, request));
  }

  #before(): string | null {
    const last = this.#looks.newest(20).find(({ action }) => action === 'run');
    return last === undefined ? null : `${localText(last.at, this.#app.zone())}: ${oneLine(last.reason, 200)}`;
  }

  async #tellRefused(reason: string): Promise<void> {
    const { count, since } = this.#looks.refused();
    if (count < PAUSE_AFTER) return;
    this.#paused = true;
    const text = `I paused the heartbeat, because its model was refused ${PAUSE_AFTER} times (${oneLine(reason, 200)}). I try it again once a day.`;
    await this.#gates.tellOwner(`heartbeat-paused:${since}`, text);
  }
}

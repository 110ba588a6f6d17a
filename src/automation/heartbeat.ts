import { readIfExists } from '../storage/files.ts';
import type { Heartbeats } from '../journal/heartbeats.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { oneLine } from '../util/text.ts';
import { isActive } from './active-hours.ts';
import { HEARTBEAT_SESSION, heartbeatRequest, type HeartbeatTarget } from './heartbeat-message.ts';
import { openTasks, shownTasks } from './open-tasks.ts';
import { localText } from '../util/time-zone.ts';

export interface HeartbeatSettings {
  readonly everyMinutes: number;
  /** `08:00-22:00`; null: always. */
  readonly activeHours: string | null;
  /** `provider/model`; null: the agent's. */
  readonly model: string | null;
}

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

/** What it needs from outside before a model is asked. */
export interface HeartbeatGates {
  /** Null: no one can be told. */
  readonly target: () => HeartbeatTarget | null;
  readonly busy: (sessions: readonly string[]) => boolean;
  readonly budgetLeft: (at: number) => Promise<boolean>;
  /** Whether strangers had a part in the text of HEARTBEAT.md. */
  readonly fromStrangers: (text: string) => Promise<boolean>;
}

export interface HeartbeatPorts {
  /** HEARTBEAT.md. */
  readonly path: string;
  readonly looks: Heartbeats;
  readonly clock: Clock;
  readonly log: Logger;
  readonly newId: () => string;
  readonly settings: HeartbeatSettings;
  /** The person's. */
  readonly zone: () => string;
  readonly gates: HeartbeatGates;
  /** Asks a model, cheaply, whether something is to be done now. Never throws. */
  readonly ask: (facts: LookFacts) => Promise<LookAnswer>;
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
  readonly #ports: HeartbeatPorts;
  #timer: Disposable | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;
  /** On the monotonic clock and on the wall clock: when it last looked, or counts as having looked. */
  #since = 0;
  #clockSince = 0;
  #closed: Closed | null = null;
  #paused = false;

  constructor(ports: HeartbeatPorts) {
    this.#ports = ports;
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
    const { clock, looks } = this.#ports;
    const last = looks.newest(1)[0];
    this.#paused = looks.refused().count >= PAUSE_AFTER;
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
    const { clock, log } = this.#ports;
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
    const { clock } = this.#ports;
    const interval = this.#interval();
    return clock.monotonic() - this.#since >= interval || clock.now() - this.#clockSince >= interval;
  }

  #interval(): number {
    return this.#paused ? PAUSE_MS : this.#ports.settings.everyMinutes * MINUTE_MS;
  }

  #passed(): void {
    const { clock } = this.#ports;
    this.#since = clock.monotonic();
    this.#clockSince = clock.now();
  }

  async #beat(): Promise<void> {
    const { settings, clock, zone, path, gates } = this.#ports;
    const at = clock.now();
    if (!isActive(settings.activeHours, at, zone())) return this.#skip('hours');
    const text = (await readIfExists(path)) ?? '';
    const tasks = openTasks(text);
    if (tasks === '') return this.#skip('nothing-open');
    const target = gates.target();
    if (target === null) return this.#skip('no-target');
    if (gates.busy([HEARTBEAT_SESSION, target.sessionKey])) {
      // It stays due, and is tried again in a minute.
      this.#closed = 'busy';
      return;
    }
    if (!(await gates.budgetLeft(at))) return this.#skip('budget');
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
    const { looks, ask, settings, gates, newId, zone } = this.#ports;
    const before = this.#before();
    await looks.begin(at);
    this.#closed = null;
    this.#passed();
    const answer = await ask({ at, tasks: shownTasks(tasks), now: localText(at, zone()), before });
    if (this.#stopped) return;
    if (answer.action !== 'refused') this.#paused = false;
    if (answer.action !== 'run') {
      await looks.end(at, { action: answer.action, reason: oneLine(answer.reason, LONGEST_REASON) });
      if (answer.action === 'refused') await this.#tellRefused(answer.reason);
      return;
    }
    const untrusted = await gates.fromStrangers(text);
    const request = { id: newId(), at, tasks: answer.tasks, model: settings.model, untrusted };
    const reason = oneLine(answer.tasks, LONGEST_REASON);
    await looks.end(at, { action: 'run', reason }, heartbeatRequest(target, request));
  }

  #before(): string | null {
    const { looks, zone } = this.#ports;
    const last = looks.newest(20).find(({ action }) => action === 'run');
    return last === undefined ? null : `${localText(last.at, zone())}: ${oneLine(last.reason, 200)}`;
  }

  async #tellRefused(reason: string): Promise<void> {
    const { looks, tellOwner } = this.#ports;
    const { count, since } = looks.refused();
    if (count < PAUSE_AFTER) return;
    this.#paused = true;
    const text = `I paused the heartbeat, because its model was refused ${PAUSE_AFTER} times (${oneLine(reason, 200)}). I try it again once a day.`;
    await tellOwner(`heartbeat-paused:${since}`, text);
  }
}

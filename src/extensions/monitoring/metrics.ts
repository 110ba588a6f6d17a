import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { App } from '../../core/api.ts';
import type { MetricFacts } from './metrics-text.ts';
import { Activity } from './activity.ts';

/** How often the delay of the event loop is looked at. */
const LAG_EVERY_MS = 50;
const NANO = 1e-9;

/** Gathers what `GET /metrics` tells. The delay of the event loop is measured from the first look on. */
export class Metrics implements Disposable {
  readonly #app: App;
  readonly #activity: Activity;
  #lag: ReturnType<typeof monitorEventLoopDelay> | undefined;

  constructor(app: App) {
    this.#app = app;
    this.#activity = new Activity(app);
  }

  async look(): Promise<MetricFacts> {
    const { journal, stored, clock } = this.#app;
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    return {
      health: await this.#app.health(),
      messages: journal.messageCounts(),
      ...this.#activity.facts(),
      store: stored.facts === undefined ? null : { ...stored.facts(), now: clock.now() },
      process: { residentBytes: rss, heapBytes: heapUsed, cpuSeconds: (user + system) / 1e6, ...this.#lagSince() },
    };
  }

  [Symbol.dispose](): void {
    this.#lag?.disable();
    this.#activity[Symbol.dispose]();
  }

  #lagSince(): Pick<MetricFacts['process'], 'lagP99Seconds' | 'lagMaxSeconds'> {
    const lag = this.#lag;
    if (lag === undefined) {
      this.#lag = monitorEventLoopDelay({ resolution: LAG_EVERY_MS });
      this.#lag.enable();
      return { lagP99Seconds: 0, lagMaxSeconds: 0 };
    }
    // The histogram holds the whole time from timer to timer.
    const late = (nanoseconds: number): number => Math.max(0, nanoseconds * NANO - LAG_EVERY_MS / 1000);
    const found = { lagP99Seconds: late(lag.percentile(99)), lagMaxSeconds: late(lag.max) };
    lag.reset();
    return found;
  }
}

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { MetricFacts } from '../../gateway/metrics.ts';
import type { StoreFacts } from '../../gateway/assistant-info.ts';
import type { HealthFacts } from '../../gateway/operations/health.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Clock } from '../../util/clock.ts';
import { Activity, type ActivityPorts } from './activity.ts';

/** How often the delay of the event loop is looked at. */
const LAG_EVERY_MS = 50;
const NANO = 1e-9;

export interface MetricsPorts extends Omit<ActivityPorts, 'usage'> {
  readonly journal: Pick<Journal, 'usage' | 'messageCounts'>;
  readonly health: () => Promise<HealthFacts>;
  /** How PostgreSQL keeps the home; undefined: the folder alone has it. */
  readonly store: (() => StoreFacts) | undefined;
  readonly clock: Clock;
}

/** Gathers what `GET /metrics` tells. The delay of the event loop is measured from the first look on. */
export class Metrics implements Disposable {
  readonly #ports: MetricsPorts;
  readonly #activity: Activity;
  #lag: ReturnType<typeof monitorEventLoopDelay> | undefined;

  constructor(ports: MetricsPorts) {
    this.#ports = ports;
    this.#activity = new Activity({ ...ports, usage: ports.journal.usage });
  }

  async look(): Promise<MetricFacts> {
    const { health, journal, store, clock } = this.#ports;
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    return {
      health: await health(),
      messages: journal.messageCounts(),
      ...this.#activity.facts(),
      store: store === undefined ? null : { ...store(), now: clock.now() },
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

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { App } from '../../core/api.ts';
import type { MetricFacts, Sample, SUMS } from './metrics-text.ts';

/** How often the delay of the event loop is looked at. */
const LAG_EVERY_MS = 50;
const NANO = 1e-9;

/** Counts turns, model calls and tool calls of this process, and gathers the rest of what `GET /metrics` tells. The delay of the event loop is measured from the first look on. */
export class Metrics implements Disposable {
  readonly #app: App;
  readonly #sums = new Map<string, Map<string, Sample>>();
  readonly #listening = new DisposableStack();
  #lag: ReturnType<typeof monitorEventLoopDelay> | undefined;

  constructor(app: App) {
    this.#app = app;
    const { hooks, journal, tools } = app;
    this.#listening.use(
      journal.usage.onRecord(({ provider, model: name, usage, costUsd }) => {
        const { input, cached, cacheWrite, output, reasoning } = usage;
        const model = `${provider}/${name}`;
        this.#add('assistant_model_calls_total', { model }, 1);
        for (const [kind, count] of Object.entries({ input, cached, cache_write: cacheWrite, output, reasoning }))
          this.#add('assistant_model_tokens_total', { model, kind }, count);
        this.#add('assistant_model_cost_usd_total', { model }, costUsd ?? 0);
      }),
    );
    this.#listening.use(
      // The last of all hooks, so that it sees each result as the model does.
      hooks.register('metrics', {
        afterTool: (_turn, { name }, { isError = false, refused = false }) => {
          const outcome = refused ? 'refused' : isError ? 'failed' : 'ok';
          this.#add('assistant_tool_calls_total', { tool: tools.named(name)?.name ?? 'unknown', outcome }, 1);
          return { type: 'proceed' };
        },
        turnEnd: (_turn, { outcome, durationMs }) => {
          this.#add('assistant_turns_total', { outcome }, 1);
          this.#add('assistant_turn_seconds_total', { outcome }, durationMs / 1000);
        },
      }),
    );
  }

  async look(): Promise<MetricFacts> {
    const { journal, stored, clock } = this.#app;
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    return {
      health: await this.#app.health(),
      messages: journal.messageCounts(),
      sums: new Map([...this.#sums].map(([name, samples]) => [name, [...samples.values()]])),
      store: stored.facts === undefined ? null : { ...stored.facts(), now: clock.now() },
      process: { residentBytes: rss, heapBytes: heapUsed, cpuSeconds: (user + system) / 1e6, ...this.#lagSince() },
    };
  }

  [Symbol.dispose](): void {
    this.#lag?.disable();
    this.#listening.dispose();
  }

  #add(name: keyof typeof SUMS, labels: Sample[0], value: number): void {
    const samples = this.#sums.get(name) ?? new Map<string, Sample>();
    const key = JSON.stringify(labels);
    samples.set(key, [labels, value + (samples.get(key)?.[1] ?? 0)]);
    this.#sums.set(name, samples);
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

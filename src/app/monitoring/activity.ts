import type { App } from '../../core/app.ts';
import type { MetricFacts } from '../../gateway/metrics.ts';
import type { UsageRow } from '../../journal/usage.ts';
import { addUsage, noUsage, type Usage } from '../../util/token-usage.ts';

/** Counts turns, model calls and tool calls of this process. */
export class Activity implements Disposable {
  readonly #turns = new Map<string, { readonly count: number; readonly seconds: number }>();
  readonly #calls = new Map<string, { readonly count: number; readonly usage: Usage; readonly costUsd: number }>();
  readonly #tools = new Map<string, MetricFacts['tools'][number]>();
  readonly #listening = new DisposableStack();

  constructor({ hooks, journal, tools }: App) {
    this.#listening.use(journal.usage.onRecord((row) => this.#called(row)));
    this.#listening.use(
      // The last of all hooks, so that it sees each result as the model does.
      hooks.register('metrics', {
        afterTool: (_turn, { name }, { isError = false, refused = false }) => {
          this.#used(tools.named(name)?.name ?? 'unknown', refused ? 'refused' : isError ? 'failed' : 'ok');
          return { type: 'proceed' };
        },
        turnEnd: (_turn, { outcome, durationMs }) => {
          const { count, seconds } = this.#turns.get(outcome) ?? { count: 0, seconds: 0 };
          this.#turns.set(outcome, { count: count + 1, seconds: seconds + durationMs / 1000 });
        },
      }),
    );
  }

  facts(): Pick<MetricFacts, 'turns' | 'calls' | 'tools'> {
    return {
      turns: [...this.#turns].map(([outcome, sums]) => ({ outcome, ...sums })),
      calls: [...this.#calls].map(([model, { count, usage, costUsd }]) => {
        const { input, cached, cacheWrite, output, reasoning } = usage;
        return { model, count, costUsd, tokens: { input, cached, cache_write: cacheWrite, output, reasoning } };
      }),
      tools: [...this.#tools.values()],
    };
  }

  [Symbol.dispose](): void {
    this.#listening.dispose();
  }

  #called({ provider, model, usage, costUsd }: UsageRow): void {
    const name = `${provider}/${model}`;
    const known = this.#calls.get(name) ?? { count: 0, usage: noUsage, costUsd: 0 };
    this.#calls.set(name, {
      count: known.count + 1,
      usage: addUsage(known.usage, usage),
      costUsd: known.costUsd + (costUsd ?? 0),
    });
  }

  #used(tool: string, outcome: string): void {
    const key = `${outcome} ${tool}`;
    this.#tools.set(key, { tool, outcome, count: (this.#tools.get(key)?.count ?? 0) + 1 });
  }
}

import type { App } from '../../core/api.ts';
import type { MetricFacts } from './metrics-text.ts';

/** Counts turns, model calls and tool calls of this process. */
export class Activity implements Disposable {
  readonly #turns = new Map<string, { readonly count: number; readonly seconds: number }>();
  readonly #calls = new Map<string, MetricFacts['calls'][number]>();
  readonly #tools = new Map<string, MetricFacts['tools'][number]>();
  readonly #listening = new DisposableStack();

  constructor({ hooks, journal, tools }: App) {
    this.#listening.use(
      journal.usage.onRecord(({ provider, model, usage, costUsd }) => {
        const { input, cached, cacheWrite, output, reasoning } = usage;
        const tokens = { input, cached, cache_write: cacheWrite, output, reasoning };
        this.#called({ model: `${provider}/${model}`, count: 1, tokens, costUsd: costUsd ?? 0 });
      }),
    );
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
      calls: [...this.#calls.values()],
      tools: [...this.#tools.values()],
    };
  }

  [Symbol.dispose](): void {
    this.#listening.dispose();
  }

  #called({ model, count, tokens, costUsd }: MetricFacts['calls'][number]): void {
    const known = this.#calls.get(model);
    const sums = Object.entries(tokens).map(([kind, sum]) => [kind, sum + (known?.tokens[kind] ?? 0)] as const);
    this.#calls.set(model, {
      model,
      count: count + (known?.count ?? 0),
      tokens: Object.fromEntries(sums),
      costUsd: costUsd + (known?.costUsd ?? 0),
    });
  }

  #used(tool: string, outcome: string): void {
    const key = `${outcome} ${tool}`;
    this.#tools.set(key, { tool, outcome, count: (this.#tools.get(key)?.count ?? 0) + 1 });
  }
}

import { Counter, Gauge, Registry } from 'prom-client';
import type { App } from '../../core/api.ts';

/** What `GET /metrics` tells. Sums are of this process, unless it says otherwise. */
export interface MetricFacts {
  readonly health: Awaited<ReturnType<App['health']>>;
  /** Of all times of this home. */
  readonly messages: { readonly in: number; readonly out: number };
  /** Of the series in `SUMS`, by their names. */
  readonly sums: ReadonlyMap<string, readonly Sample[]>;
  /** How PostgreSQL keeps the home, and the moment of that, milliseconds since 1970; null: the folder alone has it. */
  readonly store: (ReturnType<NonNullable<App['stored']['facts']>> & { readonly now: number }) | null;
  readonly process: {
    readonly residentBytes: number;
    readonly heapBytes: number;
    readonly cpuSeconds: number;
    /** How late the event loop came to timers since the look before, seconds. */
    readonly lagP99Seconds: number;
    readonly lagMaxSeconds: number;
  };
}

/** What is counted while the process runs: the series and their help. */
export const SUMS = {
  assistant_turns_total: 'Turns that ended.',
  assistant_turn_seconds_total: 'How long they took, all together.',
  assistant_model_calls_total: 'Calls of a model that were answered.',
  assistant_model_tokens_total:
    'Their tokens. "input" counts the whole prompt, "cached" and "cache_write" are parts of it.',
  assistant_model_cost_usd_total: 'Their cost in US dollars, where the price is known.',
  assistant_tool_calls_total: 'Calls of a tool: ok, failed, or refused by a rule or a person.',
} as const;

/** One value of a series, with its labels. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** The facts in the text format of Prometheus, and its media type. */
export async function metricsText(facts: MetricFacts): Promise<{ readonly text: string; readonly type: string }> {
  const registry = new Registry();
  const counter = series(registry, (options) => {
    const made = new Counter(options);
    return (labels, value) => made.inc(labels, value);
  });
  const gauge = series(registry, (options) => {
    const made = new Gauge(options);
    return (labels, value) => made.set(labels, value);
  });
  counter('assistant_messages_total', 'Messages that came in and went out, of all times of this home.', [
    [{ direction: 'in' }, facts.messages.in],
    [{ direction: 'out' }, facts.messages.out],
  ]);
  for (const [name, help] of Object.entries(SUMS)) counter(name, help, facts.sums.get(name) ?? []);
  healthSeries(facts, gauge);
  if (facts.store !== null) storeSeries(facts.store, { counter, gauge });
  const { residentBytes, heapBytes, cpuSeconds, lagP99Seconds, lagMaxSeconds } = facts.process;
  counter('process_cpu_seconds_total', 'Processor time of the process.', [[{}, cpuSeconds]]);
  gauge('process_start_time_seconds', 'When it started, seconds since 1970.', [[{}, facts.health.startedAt / 1000]]);
  gauge('process_resident_memory_bytes', 'Memory of the process.', [[{}, residentBytes]]);
  gauge('nodejs_heap_size_used_bytes', 'Memory that JavaScript objects use.', [[{}, heapBytes]]);
  const late = 'How late the event loop came since the look before:';
  gauge('nodejs_eventloop_lag_p99_seconds', `${late} 99 of 100 times not later.`, [[{}, lagP99Seconds]]);
  gauge('nodejs_eventloop_lag_max_seconds', `${late} the longest.`, [[{}, lagMaxSeconds]]);
  return { text: await registry.metrics(), type: registry.contentType };
}

type AddSeries = (name: string, help: string, samples: readonly Sample[]) => void;

interface SeriesOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
}

/** A function that adds a series of one kind to the registry. */
function series(
  registry: Registry,
  make: (options: SeriesOptions) => (labels: Record<string, string>, value: number) => void,
): AddSeries {
  return (name, help, samples) => {
    const labelNames = [...new Set(samples.flatMap(([labels]) => Object.keys(labels)))];
    const add = make({ name, help, labelNames, registers: [registry] });
    for (const [labels, value] of samples) add({ ...labels }, value);
  };
}

function storeSeries(
  { home, isHeld, behind, written, failedRenewals, homes, now }: NonNullable<MetricFacts['store']>,
  { counter, gauge }: { readonly counter: AddSeries; readonly gauge: AddSeries },
): void {
  const labels = { home };
  const seconds = behind.since === null ? 0 : Math.max(0, now - behind.since) / 1000;
  gauge('assistant_store_held', 'Whether it is certain that no other gateway runs the home.', [
    [labels, isHeld ? 1 : 0],
  ]);
  gauge('assistant_store_behind_seconds', 'How long something waits already to be written to the database.', [
    [labels, seconds],
  ]);
  gauge('assistant_store_behind_commits', 'Commits that the database does not have yet.', [[labels, behind.commits]]);
  counter('assistant_store_transactions_total', 'Write transactions of the home.', [[labels, written.transactions]]);
  counter('assistant_store_bytes_total', 'What they wrote, without what the protocol adds.', [[labels, written.bytes]]);
  counter('assistant_store_renewals_failed_total', 'Renewals of leases that failed and were tried again.', [
    [{}, failedRenewals],
  ]);
  gauge('assistant_store_homes', 'Homes that this process runs.', [[{}, homes]]);
}

function healthSeries({ health }: MetricFacts, gauge: AddSeries): void {
  const { queues, channels, disk, versions, providers } = health;
  gauge('assistant_info', 'Versions.', [[{ ...versions }, 1]]);
  gauge('assistant_turns_running', 'Turns that run now.', [[{}, queues.runningTurns]]);
  gauge('assistant_queue_messages', 'Messages that wait: for a turn (in), or to be sent (out).', [
    [{ direction: 'in' }, queues.inbound],
    [{ direction: 'out' }, queues.outbound],
  ]);
  gauge('assistant_dead_letters', 'Messages that could not be delivered.', [[{}, queues.deadLetters]]);
  gauge(
    'assistant_channel_up',
    'Whether a channel works.',
    channels.map(({ name, state }) => [{ channel: name }, state === 'running' ? 1 : 0]),
  );
  gauge(
    'assistant_provider_up',
    'Whether the newest answer of a provider succeeded; without one there is no value.',
    providers.flatMap(({ name, state }): Sample[] =>
      state === 'unknown' ? [] : [[{ provider: name }, state === 'ok' ? 1 : 0]],
    ),
  );
  gauge('assistant_disk_writable', 'Whether the disk takes writes.', [[{}, disk.state === 'ok' ? 1 : 0]]);
  if (disk.freeBytes !== null) gauge('assistant_disk_free_bytes', 'Free room on it.', [[{}, disk.freeBytes]]);
}

import type { Usage } from '../util/token-usage.ts';

/** Where servers write each number, as paths within a usage object. */
const PLACES = {
  input: ['prompt_tokens', 'input_tokens', 'prompt_eval_count'],
  output: ['completion_tokens', 'output_tokens', 'eval_count'],
  cached: [
    'prompt_tokens_details.cached_tokens',
    'input_tokens_details.cached_tokens',
    'cached_tokens',
    'prompt_cache_hit_tokens',
    'cache_read_input_tokens',
  ],
  cacheWrite: [
    'prompt_tokens_details.cache_write_tokens',
    'input_tokens_details.cache_write_tokens',
    'cache_creation_input_tokens',
  ],
  reasoning: [
    'completion_tokens_details.reasoning_tokens',
    'output_tokens_details.reasoning_tokens',
    'output_tokens_details.thinking_tokens',
    'reasoning_tokens',
  ],
} as const;

const COSTS = ['cost', 'cost.total_cost', 'total_cost'] as const;

/**
 * Reads how many tokens a server counted, in whichever dialect: numbers may be strings, any number may be missing. Null
 * when nothing was counted, which is how servers that don't count also look when they send zeros.
 */
export function readUsage(raw: unknown): Usage | null {
  const most = (names: readonly string[]): number =>
    Math.max(0, ...names.map((name) => Math.round(numberAt(raw, name) ?? 0)));
  const [cached, cacheWrite, output] = [most(PLACES.cached), most(PLACES.cacheWrite), most(PLACES.output)];
  // Anthropic counts what was cached beside the input and not within it.
  const beside = numberAt(raw, 'prompt_tokens') === undefined && isAnthropic(raw) ? cached + cacheWrite : 0;
  const input = (most(PLACES.input) || Math.max(0, most(['total_tokens']) - output)) + beside;
  if (input === 0 && output === 0) return null;
  const costUsd = costIn(raw);
  const reasoning = most(PLACES.reasoning);
  return { input, cached, cacheWrite, output, reasoning, ...(costUsd === undefined ? {} : { costUsd }) };
}

/** Both usages of one call: counts grow while a stream runs, and what a later one leaves out still holds. */
export function laterUsage(before: Usage | null, now: Usage | null): Usage | null {
  if (before === null || now === null) return now ?? before;
  return {
    input: now.input || before.input,
    cached: now.cached || before.cached,
    cacheWrite: now.cacheWrite || before.cacheWrite,
    output: now.output || before.output,
    reasoning: now.reasoning || before.reasoning,
    ...costOf(now.costUsd ?? before.costUsd),
  };
}

function costOf(costUsd: number | undefined): Pick<Usage, 'costUsd'> {
  return costUsd === undefined ? {} : { costUsd };
}

function isAnthropic(raw: unknown): boolean {
  return (
    numberAt(raw, 'cache_read_input_tokens') !== undefined || numberAt(raw, 'cache_creation_input_tokens') !== undefined
  );
}

/** Dollars. With a key of one's own at a gateway, `cost` is its fee and the server behind it is paid besides. */
function costIn(raw: unknown): number | undefined {
  const cost = COSTS.map((name) => numberAt(raw, name)).find((value) => value !== undefined);
  if (cost === undefined || valueAt(raw, 'is_byok') !== true) return cost;
  return cost + (numberAt(raw, 'cost_details.upstream_inference_cost') ?? 0);
}

/** A number of at least 0; undefined for anything else. */
function numberAt(raw: unknown, path: string): number | undefined {
  const value = valueAt(raw, path);
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
}

function valueAt(raw: unknown, path: string): unknown {
  let at = raw;
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = Reflect.get(at, name);
  }
  return at;
}

/** Tokens. `input` counts the whole prompt, cached parts included. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
  /** US dollars that the provider itself charged; absent when it didn't say. */
  readonly costUsd?: number;
  /** True when the provider didn't count, so that some of the numbers are our estimate. @default false */
  readonly estimated?: boolean;
}

export const noUsage: Usage = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };

/** The sum of two usages. Has a cost only when both have one, because half a cost would pass for the whole. */
export function addUsage(a: Usage, b: Usage): Usage {
  if (a === noUsage) return b;
  if (b === noUsage) return a;
  return {
    input: a.input + b.input,
    cached: a.cached + b.cached,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    ...(a.costUsd === undefined || b.costUsd === undefined ? {} : { costUsd: a.costUsd + b.costUsd }),
    ...(a.estimated === true || b.estimated === true ? { estimated: true } : {}),
  };
}

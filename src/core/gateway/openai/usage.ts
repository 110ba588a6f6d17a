import type { Usage } from '../../util/token-usage.ts';

/** The tokens of a turn as a chat completion counts them; those of all its model calls together. */
export function chatUsage({ input, cached, output, reasoning }: Usage): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** The tokens of a turn as a response counts them. */
export function responseUsage({ input, cached, cacheWrite, output, reasoning }: Usage): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

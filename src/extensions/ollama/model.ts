import * as z from 'zod';
import { USUAL_WINDOW } from './usual-window.ts';

/** What `POST /api/show` says of a model. */
export interface OllamaModel {
  /** Such as `tools`, `thinking` and `vision`; null: the server is too old to say. */
  readonly capabilities: ReadonlySet<string> | null;
  /** What `think` may be for this model; null: the server does not say. */
  readonly thinkValues: readonly unknown[] | null;
  /** Most tokens of context that the model supports; null: not said. */
  readonly supported: number | null;
  /** `num_ctx` of its model file; null: not set. */
  readonly modelFile: number | null;
}

/** A model of which nothing is known. */
export const UNKNOWN_MODEL: OllamaModel = {
  capabilities: null,
  thinkValues: null,
  supported: null,
  modelFile: null,
};

const tokens = z.int().positive();

const shown = z.object({
  capabilities: z.array(z.string()).nullish().catch(null),
  thinking: z
    .object({ values: z.array(z.unknown()) })
    .nullish()
    .catch(null),
  parameters: z.string().nullish().catch(null),
  model_info: z.record(z.string(), z.unknown()).nullish().catch(null),
});

/** Reads an answer of `/api/show`; what it does not say, or says in another form, is unknown. */
export function readOllamaModel(answer: unknown): OllamaModel {
  const { data } = shown.safeParse(answer);
  if (data === undefined) return UNKNOWN_MODEL;
  const info = data.model_info ?? {};
  const own = `${String(info['general.architecture'])}.context_length`;
  const length = info[own] ?? Object.entries(info).find(([key]) => key.endsWith('.context_length'))?.[1];
  const [, set] = /^num_ctx\s+(\d+)/mu.exec(data.parameters ?? '') ?? [];
  return {
    capabilities: data.capabilities == null ? null : new Set(data.capabilities),
    thinkValues: data.thinking?.values ?? null,
    supported: tokens.safeParse(length).data ?? null,
    modelFile: tokens.safeParse(Number(set)).data ?? null,
  };
}

/**
 * Tokens of context that a model is loaded with (`num_ctx`): what is configured, else its model file's, else
 * `USUAL_WINDOW`; never more than the model supports. Ollama loads the model again whenever this number changes, so it
 * depends on nothing else.
 */
export function ollamaWindow({ supported, modelFile }: OllamaModel, configured: number | null): number {
  return Math.min(configured ?? modelFile ?? USUAL_WINDOW, supported ?? Infinity);
}

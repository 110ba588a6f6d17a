import * as z from 'zod';
import { deadline, type Clock } from '../util/clock.ts';
import type { Preset } from './presets.ts';

export interface WindowQuestion {
  readonly server: NonNullable<Preset['asksWindow']>;
  /** The address of its OpenAI-compatible API. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  readonly clock: Clock;
}

const DEADLINE_MS = 2000;

/**
 * Asks a local server how many tokens a model reads as it is loaded there, else as it could be loaded; null when it
 * does not say so within 2 s. Never throws.
 */
export async function askContextWindow(question: WindowQuestion): Promise<number | null> {
  using limit = deadline(question.clock, DEADLINE_MS, 'asking for the context window');
  const { model, apiKey } = question;
  const root = question.baseUrl.replace(/\/+$/u, '').replace(/\/v1$/u, '');
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  const get = async (path: string, body?: unknown): Promise<unknown> => {
    try {
      const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      const response = await fetch(root + path, { ...init, headers, signal: limit.signal });
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined;
    }
  };
  switch (question.server) {
    case 'ollama': {
      const [running, shown] = await Promise.all([get('/api/ps'), get('/api/show', { model })]);
      return ollamaRunning(running, model) ?? ollamaShown(shown);
    }
    case 'lmstudio':
      return lmStudioWindow(await get('/api/v0/models'), model);
    case 'vllm':
      return vllmWindow(await get('/v1/models'), model);
  }
}

const tokens = z.int().positive();

const runningModels = z.object({
  models: z.array(z.object({ model: z.string(), context_length: tokens.optional() })),
});

function ollamaRunning(answer: unknown, model: string): number | null {
  const { data } = runningModels.safeParse(answer);
  return (
    data?.models.find((running) => running.model === model || running.model === `${model}:latest`)?.context_length ??
    null
  );
}

const shownModel = z.object({
  parameters: z.string().optional(),
  model_info: z.record(z.string(), z.unknown()).optional(),
});

/** What the model file sets wins over what the model was trained for. */
function ollamaShown(answer: unknown): number | null {
  const { data } = shownModel.safeParse(answer);
  const [, set] = /^num_ctx\s+(\d+)/mu.exec(data?.parameters ?? '') ?? [];
  if (set !== undefined) return Number(set);
  const trained = Object.entries(data?.model_info ?? {}).find(([key]) => key.endsWith('.context_length'));
  return tokens.safeParse(trained?.[1]).data ?? null;
}

const lmStudioModels = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      loaded_context_length: tokens.nullish(),
      max_context_length: tokens.nullish(),
    }),
  ),
});

function lmStudioWindow(answer: unknown, model: string): number | null {
  const { data } = lmStudioModels.safeParse(answer);
  const found = data?.data.find(({ id }) => id === model);
  return found?.loaded_context_length ?? found?.max_context_length ?? null;
}

const servedModels = z.object({
  data: z.array(z.object({ id: z.string(), max_model_len: tokens.nullish() })),
});

function vllmWindow(answer: unknown, model: string): number | null {
  const { data } = servedModels.safeParse(answer);
  return data?.data.find(({ id }) => id === model)?.max_model_len ?? null;
}

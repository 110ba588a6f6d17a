import * as z from 'zod';
import { deadline, type Clock } from '../util/clock.ts';
import { ollamaRoot, ollamaWindow, readOllamaModel } from './ollama/model.ts';
import type { Preset } from './presets.ts';

export interface WindowQuestion {
  readonly server: NonNullable<Preset['asksWindow']>;
  /** Its address, with or without the `/v1` of its OpenAI-compatible API. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  /** Tokens that are configured; only Ollama is told. @default null */
  readonly configured?: number | null;
  readonly clock: Clock;
  /** How long the server has for its answer, ms. @default 2000: a conversation waits for it */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 2_000;

/**
 * Asks a local server how many tokens a model reads: Ollama how many the next call loads it with, others how many it is
 * loaded with, else how many it could be. Null when the server does not say so in time. Never throws.
 */
export async function askContextWindow(question: WindowQuestion): Promise<number | null> {
  using limit = deadline(question.clock, question.deadlineMs ?? DEADLINE_MS, 'asking for the context window');
  const { model } = question;
  const get = (path: string, body?: unknown): Promise<unknown> => getJson(question, limit.signal, path, body);
  switch (question.server) {
    case 'ollama': {
      const shown = await get('/api/show', { model });
      return shown === undefined ? null : ollamaWindow(readOllamaModel(shown), question.configured ?? null);
    }
    case 'lmstudio':
      return lmStudioWindow(await get('/api/v0/models'), model);
    case 'vllm':
      return vllmWindow(await get('/v1/models'), model);
  }
}

/**
 * How many tokens of context Ollama says a model is loaded with now; null when the model is not loaded, or it does not say so
 * in time. Never throws.
 */
export async function loadedOllamaWindow(question: Omit<WindowQuestion, 'server'>): Promise<number | null> {
  using limit = deadline(question.clock, question.deadlineMs ?? DEADLINE_MS, 'asking for the loaded models');
  const { data } = runningModels.safeParse(await getJson(question, limit.signal, '/api/ps'));
  const { model } = question;
  const found = data?.models.find((running) => running.model === model || running.model === `${model}:latest`);
  return found?.context_length ?? null;
}

/** Undefined for anything but an answer in JSON. Never throws. */
async function getJson(
  { baseUrl, apiKey }: Pick<WindowQuestion, 'baseUrl' | 'apiKey'>,
  signal: AbortSignal,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  try {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(ollamaRoot(baseUrl) + path, { ...init, headers, signal });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

const tokens = z.int().positive();

const runningModels = z.object({
  models: z.array(z.object({ model: z.string(), context_length: tokens.optional() })),
});

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

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
 * Asks a server how many tokens a model reads: Ollama how many the next call loads it with, another one how many it is
 * loaded with, else how many it could be. Null when the server does not say so in time. Never throws.
 */
export async function askContextWindow(question: WindowQuestion): Promise<number | null> {
  using limit = deadline(question.clock, question.deadlineMs ?? DEADLINE_MS, 'asking for the context window');
  const { model, baseUrl } = question;
  const root = ollamaRoot(baseUrl);
  if (question.server === 'ollama') {
    const shown = await getJson(question, limit.signal, `${root}/api/show`, { model });
    return shown === undefined ? null : ollamaWindow(readOllamaModel(shown), question.configured ?? null);
  }
  const places = [`${baseUrl.replace(/\/+$/u, '')}/models`, `${root}/api/v0/models`];
  const answers = await Promise.all(places.map((place) => getJson(question, limit.signal, place)));
  const rows = answers.flatMap((answer) => listedRow(answer, model));
  return rows.map(loadedWindow).find((tokens) => tokens !== undefined) ?? largestWindow(rows);
}

/**
 * How many tokens of context Ollama says a model is loaded with now; null when the model is not loaded, or it does not say so
 * in time. Never throws.
 */
export async function loadedOllamaWindow(question: Omit<WindowQuestion, 'server'>): Promise<number | null> {
  using limit = deadline(question.clock, question.deadlineMs ?? DEADLINE_MS, 'asking for the loaded models');
  const { data } = runningModels.safeParse(
    await getJson(question, limit.signal, `${ollamaRoot(question.baseUrl)}/api/ps`),
  );
  const { model } = question;
  const found = data?.models.find((running) => running.model === model || running.model === `${model}:latest`);
  return found?.context_length ?? null;
}

/** Undefined for anything but an answer in JSON. Never throws. */
async function getJson(
  { apiKey }: Pick<WindowQuestion, 'apiKey'>,
  signal: AbortSignal,
  address: string,
  body?: unknown,
): Promise<unknown> {
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  try {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(address, { ...init, headers, signal });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

const tokens = z.int().positive();

const runningModels = z.object({
  models: z.array(z.object({ model: z.string(), context_length: tokens.optional() })),
});

/** A model in a list. vLLM, SGLang and others say how many tokens it is served with, LM Studio how many it was loaded with. */
const listed = z.looseObject({
  id: z.string(),
  loaded_context_length: tokens.nullish().catch(null),
  max_model_len: tokens.nullish().catch(null),
  max_context_length: tokens.nullish().catch(null),
  context_length: tokens.nullish().catch(null),
  context_window: tokens.nullish().catch(null),
});
type Listed = z.output<typeof listed>;

/** The model's own row; the only one of a server that has a single model, no matter which one it is asked for. */
function listedRow(answer: unknown, model: string): readonly Listed[] {
  const { data } = z.object({ data: z.array(z.unknown()) }).safeParse(answer);
  const rows = (data?.data ?? []).flatMap((row) => listed.safeParse(row).data ?? []);
  const found = rows.find(({ id }) => id === model) ?? (rows.length === 1 ? rows[0] : undefined);
  return found === undefined ? [] : [found];
}

function loadedWindow(row: Listed): number | undefined {
  return row.loaded_context_length ?? row.max_model_len ?? undefined;
}

function largestWindow(rows: readonly Listed[]): number | null {
  for (const { max_context_length: most, context_length: length, context_window: window } of rows) {
    const found = most ?? length ?? window;
    if (found != null) return found;
  }
  return null;
}

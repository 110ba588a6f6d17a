import {
  questionsTo,
  rootOf,
  serverId,
  versionIn,
  type AskedWindow,
  type WindowQuestion,
} from '../../core/api-providers.ts';
import { deadline, z } from '../../core/api.ts';
import { ollamaWindow, readOllamaModel } from './model.ts';

const DEADLINE_MS = 2_000;

/** How many tokens the next call loads a model with; null when the server does not say so in time. Never throws. */
export async function askWindow(asked: AskedWindow): Promise<number | null> {
  using limit = deadline(asked.clock, asked.deadlineMs ?? DEADLINE_MS, 'asking for the context window');
  const { get, tell } = questionsTo(asked, limit.signal);
  const root = rootOf(asked.baseUrl);
  const [shown, version] = await Promise.all([
    get(`${root}/api/show`, { model: asked.model }),
    get(`${root}/api/version`),
  ]);
  const { data } = z.looseObject({ modified_at: z.string() }).safeParse(shown);
  if (data !== undefined) tell({ id: serverId([data.modified_at, versionIn(version)]), hasTools: true });
  return shown === undefined ? null : ollamaWindow(readOllamaModel(shown), asked.configured);
}

/**
 * How many tokens of context Ollama says a model is loaded with now; null when the model is not loaded, or it does not say so
 * in time. Never throws.
 */
export async function loadedWindow(asked: WindowQuestion): Promise<number | null> {
  using limit = deadline(asked.clock, asked.deadlineMs ?? DEADLINE_MS, 'asking for the loaded models');
  const { data } = runningModels.safeParse(
    await questionsTo(asked, limit.signal).get(`${rootOf(asked.baseUrl)}/api/ps`),
  );
  const { model } = asked;
  const found = data?.models.find((running) => running.model === model || running.model === `${model}:latest`);
  return found?.context_length ?? null;
}

const runningModels = z.object({
  models: z.array(z.object({ model: z.string(), context_length: z.int().positive().optional() })),
});

import * as z from 'zod';
import { ollamaRoot } from '../providers/ollama/model.ts';
import { findPreset } from '../providers/presets.ts';
import { deadline, type Clock } from '../util/clock.ts';

export interface ListQuestion {
  /** A preset's name; others are taken to speak OpenAI's API. */
  readonly provider: string;
  /** Null: the preset's, or the API's own. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly clock: Clock;
  /** @default 8 s */
  readonly timeoutMs?: number;
}

export type ModelList =
  | { readonly kind: 'listed'; readonly names: readonly string[] }
  /** 401: the key is wrong. */
  | { readonly kind: 'refused' }
  /** It has no list, or did not answer. */
  | { readonly kind: 'unknown' };

const TIMEOUT_MS = 8_000;
const MOST = 500;

const OWN_ADDRESS: Readonly<Record<string, string>> = {
  anthropic: 'https://api.anthropic.com',
  openai: 'https://api.openai.com/v1',
};

/** Models that do not talk. */
const OTHER_PURPOSE =
  /embed|whisper|tts|dall-e|moderation|rerank|transcri|-image|imagen|veo-|sora|realtime|(?:^|[/-])audio/iu;

const list = z.object({ data: z.array(z.object({ id: z.string() })) });

/** The models that a server says it has and that can talk, in its order. Never throws. */
export async function listModels(question: ListQuestion): Promise<ModelList> {
  const { provider, baseUrl, apiKey, clock } = question;
  const preset = findPreset(provider);
  const address = (baseUrl ?? preset?.baseUrl ?? OWN_ADDRESS[provider])?.replace(/\/+$/u, '');
  if (address === undefined) return { kind: 'unknown' };
  // Ollama's list is in its OpenAI-compatible API too.
  const base = preset?.api === 'ollama' ? `${ollamaRoot(address)}/v1` : address;
  const isAnthropic = preset?.api === 'anthropic';
  using limit = deadline(clock, question.timeoutMs ?? TIMEOUT_MS, 'the list of models');
  try {
    const response = await fetch(isAnthropic ? `${base}/v1/models?limit=100` : `${base}/models`, {
      headers: headersFor(isAnthropic, apiKey),
      signal: limit.signal,
    });
    if (response.status === 401) return { kind: 'refused' };
    const { data } = list.safeParse(response.ok ? await response.json() : undefined);
    if (data === undefined) return { kind: 'unknown' };
    // Gemini's list says `models/…` where a request says the name alone.
    const names = data.data.map(({ id }) => id.replace(/^models\//u, '')).filter((id) => /^\S{1,200}$/u.test(id));
    return { kind: 'listed', names: [...new Set(names.filter((id) => !OTHER_PURPOSE.test(id)))].slice(0, MOST) };
  } catch {
    return { kind: 'unknown' };
  }
}

function headersFor(isAnthropic: boolean, apiKey: string | null): Record<string, string> {
  if (apiKey === null) return {};
  return isAnthropic
    ? { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }
    : { authorization: `Bearer ${apiKey}` };
}

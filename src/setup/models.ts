import * as z from 'zod';
import { rootOf } from '../core/providers/presets.ts';
import type { ModelServices } from '../core/providers/vendor.ts';
import { deadline, type Clock } from '../core/util/clock.ts';
import { errorCode, errorMessage } from '../core/util/errors.ts';

export interface ListQuestion {
  readonly program: ModelServices;
  /** A preset's name; others are taken to speak OpenAI's API. */
  readonly provider: string;
  /** Null: the preset's, or the API's own. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly clock: Clock;
  /** @default 8 s */
  readonly timeoutMs?: number;
  /** Ends it sooner. @default nothing does */
  readonly signal?: AbortSignal;
}

export type ModelList =
  | { readonly kind: 'listed'; readonly names: readonly string[] }
  /** 401: the key is wrong. */
  | { readonly kind: 'refused' }
  /** It has no list, or did not answer (`status` null). `why`: in a few words. */
  | { readonly kind: 'unknown'; readonly status: number | null; readonly why: string };

const TIMEOUT_MS = 8_000;
const MOST = 500;

/** Models that do not talk. */
const OTHER_PURPOSE =
  /embed|whisper|tts|dall-e|moderation|rerank|transcri|-image|imagen|veo-|sora|realtime|(?:^|[/-])audio/iu;

const list = z.object({ data: z.array(z.object({ id: z.string() })) });

/** The models that a server says it has and that can talk, in its order. Never throws. */
export async function listModels(question: ListQuestion): Promise<ModelList> {
  const { program, provider, baseUrl, apiKey, clock } = question;
  const preset = program.presets.get(provider);
  const address = (baseUrl ?? preset?.baseUrl ?? preset?.ownUrl)?.replace(/\/+$/u, '');
  if (address === undefined) return { kind: 'unknown', status: null, why: 'its address is not known' };
  // Ollama's list is in its OpenAI-compatible API too.
  const base = preset?.hasRoot === true ? `${rootOf(address)}/v1` : address;
  const { url, headers } = program.vendors[preset?.api ?? '']?.listing?.(base, apiKey) ?? {
    url: `${base}/models`,
    headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
  };
  using limit = deadline(clock, question.timeoutMs ?? TIMEOUT_MS, 'the list of models');
  try {
    const response = await fetch(url, {
      headers,
      signal: question.signal === undefined ? limit.signal : AbortSignal.any([limit.signal, question.signal]),
    });
    if (response.status === 401) return { kind: 'refused' };
    const { data } = list.safeParse(response.ok ? await response.json() : undefined);
    if (data === undefined) {
      const why = response.ok ? 'its answer is no list of models' : `it answered ${response.status}`;
      return { kind: 'unknown', status: response.status, why };
    }
    // Gemini's list says `models/…` where a request says the name alone.
    const names = data.data.map(({ id }) => id.replace(/^models\//u, '')).filter((id) => /^\S{1,200}$/u.test(id));
    return { kind: 'listed', names: [...new Set(names.filter((id) => !OTHER_PURPOSE.test(id)))].slice(0, MOST) };
  } catch (error) {
    const why = limit.signal.aborted ? 'it did not answer in time' : `it cannot be reached (${reasonOf(error)})`;
    return { kind: 'unknown', status: null, why };
  }
}

/** `fetch` says no more than "fetch failed" itself. */
function reasonOf(error: unknown): string {
  return errorCode(error) ?? errorMessage(error);
}

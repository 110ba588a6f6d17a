import { createReadStream } from 'node:fs';
import type { Clock } from '../../util/clock.ts';
import { clientsFor } from '../wrappers/stream-call.ts';
import { openClient } from './client.ts';

export interface SpeechOptions {
  /** `openai`, `groq`, or any name with an address. */
  readonly provider: string;
  readonly apiKey: string | null;
  /** Null: the usual one of the provider. */
  readonly baseUrl: string | null;
  /** Null: the usual one of the provider. */
  readonly model: string | null;
  readonly clock: Clock;
}

/** Turns the speech in a file into text; throws when the server does not. */
export type Transcribe = (path: string, signal: AbortSignal) => Promise<string>;

/** The providers that need no address, and what they are asked with unless the configuration says otherwise. */
export const SPEECH_PROVIDERS: Readonly<Record<string, { readonly baseUrl: string | null; readonly model: string }>> = {
  openai: { baseUrl: null, model: 'whisper-1' },
  groq: { baseUrl: 'https://api.groq.com/openai/v1', model: 'whisper-large-v3-turbo' },
};

/** Speech to text by OpenAI's transcription API, there or at a compatible server. A sentence when it cannot be asked. */
export function speechToText(options: SpeechOptions): Transcribe | string {
  const { provider, apiKey, clock } = options;
  const usual = SPEECH_PROVIDERS[provider];
  const baseUrl = options.baseUrl ?? usual?.baseUrl ?? null;
  if (usual === undefined && baseUrl === null) {
    return `voice.provider is ${JSON.stringify(provider)}: openai and groq are known; any other needs voice.baseUrl.`;
  }
  if (usual !== undefined && options.baseUrl === null && apiKey === null) {
    return `voice.provider is ${JSON.stringify(provider)}, which needs a key: set voice.apiKey.`;
  }
  const model = options.model ?? usual?.model ?? 'whisper-1';
  const client = clientsFor({ name: 'voice', apiKey, baseUrl, clock }, openClient);
  return async (path, signal) => {
    const { audio } = await client();
    const { text } = await audio.transcriptions.create({ file: createReadStream(path), model }, { signal });
    return text;
  };
}

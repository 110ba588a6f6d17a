import { createReadStream } from 'node:fs';
import type { Clock } from '../../util/clock.ts';
import type { SpeechServer } from '../speech-servers.ts';
import { clientsFor } from '../wrappers/stream-call.ts';
import { openClient } from './client.ts';

/** Turns the speech in a file into text; throws when the server does not. */
export type Transcribe = (path: string, signal: AbortSignal) => Promise<string>;

/** Speech to text by OpenAI's transcription API, there or at a compatible server. */
export function speechToText({ apiKey, baseUrl, model }: SpeechServer, clock: Clock): Transcribe {
  const client = clientsFor({ name: 'voice', apiKey, baseUrl, clock }, openClient);
  return async (path, signal) => {
    const { audio } = await client();
    const { text } = await audio.transcriptions.create({ file: createReadStream(path), model }, { signal });
    return text;
  };
}

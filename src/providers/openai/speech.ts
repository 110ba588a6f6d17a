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

/** Speaks a text; throws when the server does not. */
export type Synthesize = (
  text: string,
  options: { readonly voice: string; readonly format: 'opus' | 'mp3' | 'aac' | 'flac' | 'wav' },
  signal: AbortSignal,
) => Promise<Uint8Array>;

/** A long text takes most of a minute to be spoken. */
const SPEAKING_MS = 120_000;
/** Bytes: half an hour of the largest format. */
const MOST_BYTES = 25 * 1024 * 1024;

/** Text to speech by OpenAI's speech API, there or at a compatible server. */
export function textToSpeech({ apiKey, baseUrl, model }: SpeechServer, clock: Clock): Synthesize {
  const endpoint = { name: 'voice.speech', apiKey, baseUrl, clock, firstByteMs: SPEAKING_MS, idleMs: SPEAKING_MS };
  const client = clientsFor(endpoint, openClient);
  return async (text, { voice, format }, signal) => {
    const { audio } = await client();
    const response = await audio.speech.create({ model, voice, input: text, response_format: format }, { signal });
    const type = response.headers.get('content-type') ?? '';
    if (/^(?:application\/json|text\/)/iu.test(type)) throw new Error(`it sent ${type} instead of a sound`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.byteLength === 0) throw new Error('it sent an empty sound');
    if (bytes.byteLength > MOST_BYTES) throw new Error('it sent more than 25 MB');
    return bytes;
  };
}

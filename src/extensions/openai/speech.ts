import { createReadStream } from 'node:fs';
import { clientsFor, type EndpointOptions } from '../../core/api-providers.ts';
import type { Synthesize, Transcribe } from '../../core/api-vendors.ts';
import { openClient } from './client.ts';

/** Speech to text by OpenAI's transcription API, there or at a compatible server. */
export function speechToText(endpoint: EndpointOptions, model: string): Transcribe {
  const client = clientsFor(endpoint, openClient);
  return async (path, signal) => {
    const { audio } = await client();
    const { text } = await audio.transcriptions.create({ file: createReadStream(path), model }, { signal });
    return text;
  };
}

/** A long text takes most of a minute to be spoken. */
const SPEAKING_MS = 120_000;
/** Bytes: half an hour of the largest format. */
const MOST_BYTES = 25 * 1024 * 1024;

/** Text to speech by OpenAI's speech API, there or at a compatible server. */
export function textToSpeech(endpoint: EndpointOptions, model: string): Synthesize {
  const client = clientsFor({ ...endpoint, firstByteMs: SPEAKING_MS, idleMs: SPEAKING_MS }, openClient);
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

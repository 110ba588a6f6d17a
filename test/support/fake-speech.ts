import { readBody, replyJson, startServer } from './http.ts';

/** A recording that came in, as the server got it. */
export interface Heard {
  readonly key: string | undefined;
  /** The whole form, as Latin text. */
  readonly form: string;
}

/** A text that was to be spoken. */
export interface Asked {
  readonly key: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server with the speech part of OpenAI's API: `/v1/audio/transcriptions` and `/v1/audio/speech`. */
export interface FakeSpeech extends AsyncDisposable {
  /** Ends with `/v1`. */
  readonly url: string;
  readonly heard: readonly Heard[];
  readonly asked: readonly Asked[];
  /** What each recording says from now on. */
  words: string;
  /** What a spoken text is from now on: a sound, or the HTTP status of a failure. */
  sound: Buffer | number;
  /** Called when a text is to be spoken, before the answer; the answer waits for it. */
  onSpeech: () => Promise<void> | void;
}

/** The first bytes of an Ogg file. */
export const OGG = Buffer.from('OggS\0spoken');

export async function startFakeSpeech(): Promise<FakeSpeech> {
  const heard: Heard[] = [];
  const asked: Asked[] = [];
  const server = await startServer(async (request, response) => {
    const key = request.headers.authorization;
    const body = await readBody(request);
    if (request.url === '/v1/audio/transcriptions') {
      heard.push({ key, form: body });
      replyJson(response, 200, { text: fake.words });
      return;
    }
    if (request.url !== '/v1/audio/speech') {
      replyJson(response, 404, { error: { message: `no ${request.url ?? ''} here` } });
      return;
    }
    asked.push({ key, body: JSON.parse(body) as Asked['body'] });
    await fake.onSpeech();
    const { sound } = fake;
    if (typeof sound === 'number') {
      replyJson(response, sound, { error: { message: 'the voice is hoarse' } });
      return;
    }
    response.writeHead(200, { 'content-type': 'audio/ogg' });
    response.end(sound);
  });
  const fake: FakeSpeech = {
    url: `${server.url}/v1`,
    heard,
    asked,
    words: 'Remind me of the milk.',
    sound: OGG,
    onSpeech: () => {},
    [Symbol.asyncDispose]: () => server.close(),
  };
  return fake;
}

/** Sends what is meant for these public hosts to servers of the test; everything else goes where it says. */
export function standInFor(hosts: Readonly<Record<string, string>>): Disposable {
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const server = hosts[url.host];
    if (server === undefined) return await real(input, init);
    const path = url.pathname.replace(/^.*(?=\/v1\/)/u, '');
    return await real(new URL(path, server), init);
  };
  return {
    [Symbol.dispose]: () => {
      globalThis.fetch = real;
    },
  };
}

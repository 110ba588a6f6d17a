import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI from 'openai';
import { startWorld, type World, type WorldOptions } from './world.ts';

/** A whole assistant, and clients of its API. */
export interface ApiWorld extends AsyncDisposable {
  readonly world: World;
  /** Of the gateway that runs now, e.g. `http://127.0.0.1:40123`. */
  base(): Promise<string>;
  readonly token: string;
  /** The official client, which repeats nothing by itself. */
  client(): Promise<OpenAI>;
  /** Asks over HTTP with the token. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** POSTs JSON with the token. */
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

export async function startApi(options: WorldOptions = {}): Promise<ApiWorld> {
  return apiOf(await startWorld(options));
}

/** The API of a world. */
export async function apiOf(world: World): Promise<ApiWorld> {
  const token = (await readFile(join(world.home, 'gateway.token'), 'utf8')).trim();
  const base = async (): Promise<string> => {
    const { http } = await world.assistant.call('info', {});
    if (http === null) throw new Error('this assistant serves no HTTP');
    return http;
  };
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${token}`);
    return await fetch(`${await base()}${path}`, { ...init, headers });
  };
  return {
    world,
    base,
    token,
    client: async () => new OpenAI({ baseURL: `${await base()}/v1`, apiKey: token, maxRetries: 0 }),
    ask,
    post: (path, body, headers = {}) =>
      ask(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

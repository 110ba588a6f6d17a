import { signal } from '@preact/signals';
import type { RequestName, RequestParams, RequestResult } from '../../core/gateway/operations/operations.ts';
import { pause } from '../clock.ts';

/** Whether this browser may talk to the assistant; undefined: not known yet. */
export const loggedIn = signal<boolean | undefined>(undefined);

/** Where the half of the login that belongs to this origin alone is kept; the other half is a cookie. */
const KEY = 'assistant-login';

/** An address of this server that a browser opens on its own, such as an image's, with the login in it. */
export function withLogin(path: string): string {
  const address = new URL(path, location.href);
  address.searchParams.set('login', localStorage.getItem(KEY) ?? '');
  return address.href;
}

/** What the assistant refused, or why it could not be reached (`code` is `offline` then). The message is for people. */
export class RequestError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The body of a write, which names itself. */
type Identified = Readonly<Record<string, unknown>> & { readonly id: string };

const OFFLINE = 'The assistant cannot be reached. Check that it runs, then try again.';
const TRIES = 4;
/** An answer to a write that comes later is not waited for: a network that died says nothing. */
const WRITE_MS = 20_000;

/** One request. Rejects with a `RequestError`; without a right to ask it also shows the login. */
export async function ask<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  let response: Response;
  try {
    const headers = new Headers(init.headers);
    headers.set('X-Assistant-Login', localStorage.getItem(KEY) ?? '');
    response = await fetch(path, { ...init, headers, credentials: 'same-origin', redirect: 'error' });
    if (path === '/login' && response.ok) localStorage.setItem(KEY, response.headers.get('X-Assistant-Login') ?? '');
  } catch {
    throw new RequestError('offline', OFFLINE);
  }
  if (response.status === 401 && path !== '/login') loggedIn.value = false;
  const text = await response.text();
  const body: unknown = text === '' ? null : parse(text);
  if (response.ok) return body as Answer;
  throw errorOf(body, response.status);
}

/**
 * Posts JSON. What did not get through is sent again, up to four times: a body with an `id` of its own is taken only
 * once however often it arrives.
 */
export async function post<Answer>(path: string, body: Identified): Promise<Answer> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await ask<Answer>(path, { ...json(body), signal: AbortSignal.timeout(WRITE_MS) });
    } catch (error) {
      if (!isOffline(error) || tried === TRIES) throw error;
      await pause(250 * 2 ** tried);
    }
  }
}

/** Asks for one of the operations. */
export async function operation<Name extends RequestName>(
  name: Name,
  params: RequestParams<Name>,
): Promise<RequestResult<Name>> {
  const { result } = await ask<{ result: RequestResult<Name> }>(`/api/operations/${name}`, json(params));
  return result;
}

/** The options of a request that posts JSON. */
export function json(body: object): RequestInit {
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

export function isOffline(error: unknown): boolean {
  return error instanceof RequestError && error.code === 'offline';
}

/** One sentence about what went wrong. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function errorOf(body: unknown, status: number): RequestError {
  const unknown = `The assistant answered with an error (${status}). Its log says why.`;
  if (typeof body !== 'object' || body === null || !('error' in body)) {
    // A proxy in between answers for an assistant that is not there.
    return status >= 502 && status <= 504 ? new RequestError('offline', OFFLINE) : new RequestError('http', unknown);
  }
  const { error } = body;
  if (typeof error !== 'object' || error === null) return new RequestError('http', unknown);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'http';
  const message = 'message' in error && typeof error.message === 'string' ? error.message : unknown;
  return new RequestError(code, message);
}

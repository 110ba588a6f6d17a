import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Readable } from 'node:stream';
import type { Api } from 'grammy/web';
import { isAbort, http, https, ALWAYS_PERMITTED, NotPermitted, type Permit } from '../../core/api-channels.ts';
import { type Clock, errorCode } from '../../core/api.ts';

export type GrammySignal = NonNullable<Parameters<Api['raw']['getMe']>[0]>;

const CONNECT_DEADLINE_MS = 10_000;
const BODY_CAP = 32 * 1024 * 1024;

/** A call that brought no JSON back. Its message names no address, because the bot's token is part of every address. */
export class TransportError extends Error {
  /** False: the connection was never made, so the server certainly did not get the call. */
  readonly sent: boolean;
  /** Of the answer, when there was one. */
  readonly status: number | undefined;

  constructor(message: string, facts: { sent: boolean; status?: number }) {
    super(message);
    this.name = 'TransportError';
    this.sent = facts.sent;
    this.status = facts.status;
  }
}

interface Call {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

interface Answer {
  json(): Promise<unknown>;
}

export interface Transport extends Disposable {
  /** In the shape of `fetch`, as far as grammY uses it. */
  readonly call: (url: string, call: Call) => Promise<Answer>;
  /** Gets a file. Rejects with a `TransportError` when it is not there, or longer than `maxBytes`. */
  readonly file: (
    url: string,
    options: { readonly maxBytes: number; readonly signal: AbortSignal },
  ) => Promise<Uint8Array>;
}

/**
 * HTTP for the Bot API. A new message always gets a fresh connection: on one that was kept open a reset cannot be told
 * from a lost answer. Everything else may share connections.
 */
export function openTransport(clock: Clock, permit: Pick<Permit, 'check'> = ALWAYS_PERMITTED): Transport {
  const kept = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) };
  const fresh = { http: new http.Agent({ keepAlive: false }), https: new https.Agent({ keepAlive: false }) };
  return {
    call: (url, call) => {
      const address = new URL(url);
      const agents = makesMessage(address) ? fresh : kept;
      const secure = address.protocol === 'https:';
      const request = secure
        ? https.request(address, { ...requestOptions(call), agent: agents.https })
        : http.request(address, { ...requestOptions(call), agent: agents.http });
      return converse(
        request,
        call,
        { clock, permit, readyEvent: secure ? 'secureConnect' : 'connect' },
        async (response) => {
          const bytes = await readAll(response, BODY_CAP);
          return answer(bytes.toString('utf8'), response.statusCode ?? 0);
        },
      );
    },
    file: (url, { maxBytes, signal }) => {
      const address = new URL(url);
      const secure = address.protocol === 'https:';
      const request = secure
        ? https.request(address, { signal, agent: kept.https })
        : http.request(address, { signal, agent: kept.http });
      return converse(
        request,
        {},
        { clock, permit, readyEvent: secure ? 'secureConnect' : 'connect' },
        async (response) => {
          const status = response.statusCode ?? 0;
          if (status === 200) return await readAll(response, maxBytes);
          response.resume();
          throw new TransportError(`the file could not be downloaded (HTTP ${status})`, { sent: true, status });
        },
      );
    },
    [Symbol.dispose]() {
      for (const agent of [kept.http, kept.https, fresh.http, fresh.https]) agent.destroy();
    },
  };
}

function makesMessage({ pathname }: URL): boolean {
  return /\/(?:send|forward|copy)\w+$/u.test(pathname) && !/\/send(?:ChatAction|MessageDraft)$/u.test(pathname);
}

function requestOptions({ method = 'POST', headers = {}, signal }: Call): RequestOptions {
  return { method, headers, ...(signal === undefined ? {} : { signal }) };
}

interface Line {
  readonly clock: Clock;
  readonly permit: Pick<Permit, 'check'>;
  /** Of a socket that can be written to. */
  readonly readyEvent: string;
}

/** Nothing is written before the connection stands: no time passes between the last look at the permit and the system call. */
function converse<T>(
  request: ClientRequest,
  { body }: Call,
  { clock, permit, readyEvent }: Line,
  read: (response: IncomingMessage) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let sent = false;
    const limit = clock.timer(CONNECT_DEADLINE_MS, () => request.destroy(new Error('connecting took too long')));
    const connected = (): void => {
      limit[Symbol.dispose]();
      try {
        permit.check();
      } catch (error) {
        request.destroy(error instanceof Error ? error : undefined);
        return;
      }
      sent = true;
      if (body instanceof ReadableStream)
        Readable.from(permitted(body, permit))
          .on('error', (error) => request.destroy(error))
          .pipe(request);
      else request.end(typeof body === 'string' ? body : undefined);
    };
    request.on('socket', (socket) => {
      if (request.reusedSocket) connected();
      else socket.once(readyEvent, connected);
    });
    request.on('error', (error) => {
      limit[Symbol.dispose]();
      const took = sent && !(error instanceof NotPermitted);
      reject(new TransportError(isAbort(error) ? 'aborted' : (errorCode(error) ?? error.message), { sent: took }));
    });
    request.on('response', (response) => {
      read(response).then(resolve, reject);
    });
  });
}

/** Looks at the permit at each piece: Telegram does nothing before it has the last one. */
async function* permitted(body: ReadableStream, { check }: Pick<Permit, 'check'>): AsyncGenerator {
  for await (const piece of Readable.fromWeb(body)) {
    check();
    yield piece;
  }
  check();
}

async function readAll(response: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const status = response.statusCode ?? 0;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      size += chunk.length;
      if (size > mostBytes) throw new Error('the answer is too long');
      chunks.push(chunk);
    }
  } catch (error) {
    throw new TransportError(errorCode(error) ?? 'the answer broke off', { sent: true, status });
  }
  return Buffer.concat(chunks);
}

function answer(text: string, status: number): Answer {
  return {
    async json() {
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        throw new TransportError(`the answer (HTTP ${status}) is not JSON`, { sent: true, status });
      }
      if (typeof value === 'object' && value !== null && 'ok' in value) return value;
      throw new TransportError(`the answer (HTTP ${status}) is not the Bot API's`, { sent: true, status });
    },
  };
}

/** `grammy/web` uses the native signal; its types are those of a polyfill. */
export function forGrammy(signal: AbortSignal): GrammySignal {
  return signal as unknown as GrammySignal;
}

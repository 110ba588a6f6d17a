import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Passed {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly status: number;
  /** All that was answered. */
  readonly text: string;
}

export interface ProxyOptions {
  /** Changes a request before it passes, e.g. to make a model call a tool. */
  readonly change?: (body: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** Says nothing of the server itself: requests without a body get 404. @default false */
  readonly isSilent?: boolean;
}

/** An HTTP server in between that keeps what passes. */
export interface RecordingProxy extends AsyncDisposable {
  readonly url: string;
  /** Requests with a body that were answered to the end. */
  readonly passed: readonly Passed[];
  /** While it is set, each request waits for it. */
  held: Promise<unknown> | undefined;
  /** While it is set, each request gets it, with status 503. */
  refusal: unknown;
  /** Requests with a body that are being answered. */
  readonly open: number;
}

export async function startRecordingProxy(to: string, options: ProxyOptions = {}): Promise<RecordingProxy> {
  const passed: Passed[] = [];
  let open = 0;
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const away = new AbortController();
    response.once('close', () => away.abort());
    const path = request.url ?? '/';
    const sent = Buffer.concat(await request.toArray()).toString('utf8');
    if (proxy.refusal !== undefined || (sent === '' && options.isSilent === true)) {
      response.writeHead(proxy.refusal === undefined ? 404 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify(proxy.refusal ?? {}));
      return;
    }
    if (sent === '') {
      await copy(await fetch(`${to}${path}`, { signal: away.signal }), response);
      return;
    }
    const asked = JSON.parse(sent) as Passed['body'];
    const body = options.change?.(asked) ?? asked;
    open += 1;
    try {
      await proxy.held;
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      const answer = await fetch(`${to}${path}`, { ...init, signal: away.signal });
      passed.push({ path, body, status: answer.status, text: await copy(answer, response) });
    } finally {
      open -= 1;
    }
  };
  const listener = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const proxy: RecordingProxy = {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    passed,
    held: undefined,
    refusal: undefined,
    get open() {
      return open;
    },
    [Symbol.asyncDispose]: async () => {
      listener.closeAllConnections();
      listener.close();
      await once(listener, 'close');
    },
  };
  return proxy;
}

/** Passes an answer on as it comes, and returns its text. */
async function copy(answer: Response, response: ServerResponse): Promise<string> {
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' });
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    response.write(chunk);
  }
  response.end();
  return text;
}

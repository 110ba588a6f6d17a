import { once } from 'node:events';
import * as http from 'node:http';
import type { Socket } from 'node:net';

export interface TestServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Cuts every open connection; the server goes on. */
  cutAll(): void;
  /** Stops at once, whatever is still open; harmless when repeated. */
  close(): Promise<void>;
}

export type Handle = (request: http.IncomingMessage, response: http.ServerResponse) => void | Promise<void>;

/** Serves on 127.0.0.1; port 0 lets the system choose; `prepare` sees the server before it listens. A handler that throws answers 500 and fails `close`. */
export async function startServer(
  handle: Handle,
  options: { readonly port?: number; readonly prepare?: (server: http.Server) => void } = {},
): Promise<TestServer> {
  const sockets = new Set<Socket>();
  const failures: unknown[] = [];
  const server = http.createServer((request, response) => {
    void run(handle, request, response, failures);
  });
  options.prepare?.(server);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  // A server that drops idle connections makes clients fail at random: it never does by itself.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the test server has no port');
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  let closing: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    cutAll();
    await closed;
    if (failures.length > 0)
      throw new AggregateError(failures, `a test server's handler threw: ${String(failures[0])}`);
  };
  const close = (): Promise<void> => (closing ??= stop());
  return { url: `http://127.0.0.1:${address.port}`, port: address.port, cutAll, close, [Symbol.asyncDispose]: close };
}

async function run(
  handle: Handle,
  request: http.IncomingMessage,
  response: http.ServerResponse,
  failures: unknown[],
): Promise<void> {
  try {
    await handle(request, response);
  } catch (error) {
    if (request.destroyed && !request.complete) return;
    failures.push(error);
    if (response.headersSent) response.destroy();
    else replyJson(response, 500, { error: String(error) });
  }
}

/** Who asks a double that several ask: their addresses begin with `/from/NAME`. `from`: '' for any other. */
export function callerOf(path: string): { readonly from: string; readonly path: string } {
  const [, from, rest = ''] = /^\/from\/([^/]+)(\/.*)$/u.exec(path) ?? [];
  return from === undefined ? { from: '', path } : { from, path: rest };
}

/** The whole body as UTF-8; rejects when the client leaves before its end. */
export async function readBody(request: http.IncomingMessage): Promise<string> {
  return (await readBytes(request)).toString('utf8');
}

/** The whole body; rejects when the client leaves before its end. */
export async function readBytes(request: http.IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function replyJson(
  response: http.ServerResponse,
  status: number,
  value: unknown,
  headers: http.OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

/** Breaks the connection with a TCP reset: the client sees ECONNRESET. What was not yet sent is lost. */
export function resetConnection(response: http.ServerResponse): void {
  response.socket?.resetAndDestroy();
}

/** Sends what was written so far, then closes the connection in the middle of the answer. */
export async function cutConnection(response: http.ServerResponse): Promise<void> {
  const { socket } = response;
  if (socket === null || socket.destroyed) return;
  await new Promise<void>((resolve) => {
    socket.write('', () => resolve());
    socket.once('close', () => resolve());
  });
  socket.destroy();
}

/** Resolves when the answer is finished or its client is gone. */
export function untilClosed(response: http.ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed || response.closed) resolve();
    else response.once('close', () => resolve());
  });
}

/** Waits `ms`, or less when the client leaves; false when it left. */
export function pause(response: http.ServerResponse, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    if (response.destroyed) {
      resolve(false);
      return;
    }
    const gone = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      response.off('close', gone);
      resolve(true);
    }, ms);
    response.once('close', gone);
  });
}

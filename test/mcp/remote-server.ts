import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody, replyJson, startServer, type TestServer } from '../support/http.ts';

export interface Asked {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: { id?: number; method?: string };
}

export interface Remote {
  readonly url: string;
  readonly port: number;
  readonly asked: readonly Asked[];
  /** Answers before the usual ones; true: it has answered. */
  intercept: (asked: Asked, response: ServerResponse) => boolean;
}

const TOOLS = [{ name: 'echo', description: 'Says it.', inputSchema: { type: 'object', properties: {} } }];

/** A small server of the protocol that answers with plain JSON. */
export async function remote(): Promise<Remote & AsyncDisposable> {
  const asked: Asked[] = [];
  const http: TestServer = await startServer(async (request, response) => {
    const text = await readBody(request);
    const one = { method: request.method ?? '', headers: request.headers, body: text === '' ? {} : JSON.parse(text) };
    asked.push(one);
    if (self.intercept(one, response)) return;
    const { id, method } = one.body;
    const result = (value: object): void => replyJson(response, 200, { jsonrpc: '2.0', id, result: value });
    if (one.method !== 'POST') response.writeHead(405).end();
    else if (method === 'initialize') {
      const serverInfo = { name: 'remote', version: '1' };
      response.setHeader('mcp-session-id', `session-${asked.length}`);
      result({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo });
    } else if (method === 'tools/list') result({ tools: TOOLS });
    else if (method === 'tools/call') result({ content: [{ type: 'text', text: 'said' }] });
    else response.writeHead(202).end();
  });
  const self: Remote & AsyncDisposable = {
    url: `${http.url}/mcp`,
    port: http.port,
    asked,
    intercept: () => false,
    [Symbol.asyncDispose]: () => http.close(),
  };
  return self;
}

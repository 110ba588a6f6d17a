import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody, replyJson } from './http.ts';
import { isRecord } from './validate.ts';

/** The body of a refusal. */
export function failure(status: number, description: string, retryAfter?: number): unknown {
  const text = retryAfter === undefined ? description : `Too Many Requests: retry after ${retryAfter}`;
  return {
    ok: false,
    error_code: status,
    description: text,
    ...(retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } }),
  };
}

export function serveFile(content: Uint8Array | undefined, response: ServerResponse): void {
  if (content === undefined) {
    replyJson(response, 404, failure(404, 'Not Found'));
    return;
  }
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  response.end(content);
}

/** Parameters of the address, then of the body: JSON or a form, whose values may be JSON. */
export async function readPayload(request: IncomingMessage, url: URL): Promise<Readonly<Record<string, unknown>>> {
  const text = await readBody(request);
  const fromAddress = fromForm(url.searchParams);
  if (text === '') return fromAddress;
  if (request.headers['content-type']?.startsWith('application/json') !== true) {
    return { ...fromAddress, ...fromForm(new URLSearchParams(text)) };
  }
  const body: unknown = JSON.parse(text);
  return isRecord(body) ? { ...fromAddress, ...body } : fromAddress;
}

function fromForm(parameters: URLSearchParams): Readonly<Record<string, unknown>> {
  const payload: Record<string, unknown> = {};
  for (const [key, value] of parameters) payload[key] = /^[[{]/u.test(value) ? JSON.parse(value) : value;
  return payload;
}

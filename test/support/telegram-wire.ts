import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBytes, replyJson } from './http.ts';
import { isRecord } from './validate.ts';

/** The body of a refusal. */
export function failure(status: number, description: string, retryAfter?: number, movedTo?: number): unknown {
  const text = retryAfter === undefined ? description : `Too Many Requests: retry after ${retryAfter}`;
  return {
    ok: false,
    error_code: status,
    description: text,
    ...(retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } }),
    ...(movedTo === undefined ? {} : { parameters: { migrate_to_chat_id: movedTo } }),
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

/** A file in a form. */
export interface UploadedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Parameters of the address, then of the body: JSON or a form, whose values may be JSON. Files are `UploadedFile`s. */
export async function readPayload(request: IncomingMessage, url: URL): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await readBytes(request);
  const text = bytes.toString('utf8');
  const fromAddress = fromForm(url.searchParams);
  if (text === '') return fromAddress;
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('multipart/form-data')) return { ...fromAddress, ...(await fromMultipart(bytes, type)) };
  if (!type.startsWith('application/json')) {
    return { ...fromAddress, ...fromForm(new URLSearchParams(text)) };
  }
  const body: unknown = JSON.parse(text);
  return isRecord(body) ? { ...fromAddress, ...body } : fromAddress;
}

async function fromMultipart(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<Readonly<Record<string, unknown>>> {
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const payload: Record<string, unknown> = {};
  for (const [key, value] of form) {
    if (typeof value === 'string') payload[key] = /^[[{]/u.test(value) ? JSON.parse(value) : value;
    else payload[key] = { name: value.name, bytes: await value.bytes() };
  }
  return payload;
}

function fromForm(parameters: URLSearchParams): Readonly<Record<string, unknown>> {
  const payload: Record<string, unknown> = {};
  for (const [key, value] of parameters) payload[key] = /^[[{]/u.test(value) ? JSON.parse(value) : value;
  return payload;
}

import type { StreamingFetch } from '../../security/fetch/fetch.ts';

/** JSON-RPC's internal error, for servers that send an error without a code. */
const INTERNAL = -32_603;

/** Parts of results that are read by a strict schema, for which null is none of the allowed values. */
const STRICT: ReadonlySet<string> = new Set([
  'capabilities',
  'serverInfo',
  'prompts',
  'resources',
  'resourceTemplates',
]);

/**
 * A message with small slips of servers corrected: null for what could be left out, such as `error: null` beside a result, a
 * missing `jsonrpc`, an error without `code` or `message`, what a server may say of itself.
 */
export function corrected(message: unknown): unknown {
  if (Array.isArray(message)) return message.map(corrected);
  if (!isObject(message)) return message;
  const { error, result, id, ...rest } = message;
  const envelope = { jsonrpc: '2.0', ...withoutNulls(rest), ...(id === undefined ? {} : { id }) };
  if (error === null || error === undefined) {
    return result === undefined ? envelope : { ...envelope, result: correctedResult(result) };
  }
  const given = isObject(error) ? error : { message: error };
  const text = typeof given['message'] === 'string' ? given['message'] : JSON.stringify(error);
  const code = Number.isInteger(given['code']) ? given['code'] : INTERNAL;
  return { ...envelope, error: { ...given, code, message: text } };
}

function correctedResult(result: unknown): unknown {
  if (result === null || isEmptyList(result)) return {};
  if (!isObject(result)) return result;
  const entries = Object.entries(withoutNulls(result)).map(([key, value]) => [
    key,
    STRICT.has(key) ? withoutNullsInside(value) : value,
  ]);
  const kept: Record<string, unknown> = Object.fromEntries(entries);
  if (typeof kept['protocolVersion'] !== 'string') return kept;
  const { capabilities, serverInfo } = kept;
  // PHP writes an empty object as a list.
  const able = Object.entries(isObject(capabilities) ? capabilities : {}).filter(([, value]) => value !== false);
  return {
    ...kept,
    capabilities: Object.fromEntries(able.map(([name, value]) => [name, isObject(value) ? value : {}])),
    serverInfo: { name: 'unnamed', version: '', ...(isObject(serverInfo) ? serverInfo : {}) },
  };
}

function withoutNulls(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

function withoutNullsInside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullsInside);
  if (!isObject(value)) return value;
  const entries = Object.entries(withoutNulls(value)).map(([key, item]) => [key, withoutNullsInside(item)]);
  return Object.fromEntries(entries);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** The same fetch, with the messages of its answers corrected, and the lines of event streams ended by \n alone. */
export function correcting(fetch: StreamingFetch): StreamingFetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const type = response.headers.get('content-type') ?? '';
    const { status, headers, body } = response;
    if (body !== null && type.includes('text/event-stream')) {
      return new Response(body.pipeThrough(new TransformStream(new EventLines())), { status, headers });
    }
    if (body === null || !type.includes('application/json') || !response.ok) return response;
    return new Response(correctedText(await response.text()), { status, headers });
  };
}

/**
 * Rewrites an event stream line by line. A carriage return ends a line at once: waiting for what follows it would hold
 * the event back until the next one.
 */
class EventLines {
  readonly #decoder = new TextDecoder();
  readonly #encoder = new TextEncoder();
  /** The pieces of the line that hasn't ended yet. */
  #open: string[] = [];
  #endedByReturn = false;

  transform(chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void {
    let text = this.#decoder.decode(chunk, { stream: true });
    if (text === '') return;
    const isRest = this.#endedByReturn && text.startsWith('\n');
    this.#endedByReturn = text.endsWith('\r');
    if (isRest) text = text.slice(1);
    const lines = text.split(/\r\n|\r|\n/u);
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      controller.enqueue(this.#encoder.encode(`${correctedLine(this.#open.join('') + line)}\n`));
      this.#open = [];
    }
    this.#open.push(rest);
  }

  flush(controller: TransformStreamDefaultController<Uint8Array>): void {
    controller.enqueue(this.#encoder.encode(correctedLine(this.#open.join(''))));
  }
}

function correctedLine(line: string): string {
  const data = /^data: ?(?<data>\{.*)$/u.exec(line)?.groups?.['data'];
  return data === undefined ? line : `data: ${correctedText(data)}`;
}

function correctedText(text: string): string {
  try {
    return JSON.stringify(corrected(JSON.parse(text)));
  } catch {
    return text;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import type { StreamingFetch } from '../../security/fetch/fetch.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** JSON-RPC's internal error, for servers that send an error without a code. */
const INTERNAL = -32_603;

/**
 * A message with small slips of servers corrected: null for what could be left out, such as `error: null` beside a
 * result, a missing `jsonrpc`, an error without `code` or `message`, empty lists where PHP means empty objects.
 */
export function corrected(message: unknown): unknown {
  if (Array.isArray(message)) return message.map(corrected);
  if (!isObject(message)) return message;
  const { error, result, ...rest } = withoutNulls(message);
  const envelope = { jsonrpc: '2.0', ...rest };
  if (error === undefined) return 'result' in message ? { ...envelope, result: correctedResult(result) } : envelope;
  const given = isObject(error) ? error : { message: error };
  const code = Number.isInteger(given['code']) ? given['code'] : INTERNAL;
  const text = typeof given['message'] === 'string' ? given['message'] : JSON.stringify(error);
  return { ...envelope, error: { ...given, code, message: text } };
}

function correctedResult(result: unknown): unknown {
  if (Array.isArray(result) && result.length === 0) return {};
  if (!isObject(result)) return result ?? {};
  if (typeof result['protocolVersion'] !== 'string') return withoutNulls(result);
  // The answer to `initialize`, the only one that the SDK reads strictly.
  const { capabilities, serverInfo, ...rest } = withoutNulls(result, true);
  const able = Object.entries(isObject(capabilities) ? capabilities : {}).filter(([, value]) => value !== false);
  return {
    ...rest,
    capabilities: Object.fromEntries(able.map(([name, value]) => [name, isObject(value) ? value : {}])),
    serverInfo: { name: 'unnamed', version: '', ...(isObject(serverInfo) ? serverInfo : {}) },
  };
}

function withoutNulls(value: JsonObject, inside = false): JsonObject {
  const kept = Object.entries(value).filter(([, item]) => item !== null);
  const clean = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(clean);
    return isObject(item) ? withoutNulls(item, true) : item;
  };
  return Object.fromEntries(inside ? kept.map(([key, item]) => [key, clean(item)]) : kept);
}

/** The same fetch, with the messages of its answers corrected, and the lines of event streams ended by \n alone. */
export function correcting(fetch: StreamingFetch): StreamingFetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { status, headers, body } = response;
    const type = headers.get('content-type') ?? '';
    if (body !== null && type.includes('text/event-stream')) {
      const text = body.pipeThrough(new TextDecoderStream()).pipeThrough(eventLines());
      return new Response(text.pipeThrough(new TextEncoderStream()), { status, headers });
    }
    if (body === null || !type.includes('application/json') || !response.ok) return response;
    return new Response(correctedText(await response.text()), { status, headers });
  };
}

/**
 * Rewrites an event stream line by line. A carriage return ends a line at once: waiting for what follows it would hold
 * the event back until the next one.
 */
function eventLines(): TransformStream<string, string> {
  let open: string[] = [];
  let endedByReturn = false;
  return new TransformStream({
    transform: (chunk, controller) => {
      if (chunk === '') return;
      const text = endedByReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
      endedByReturn = chunk.endsWith('\r');
      const [rest = '', ...next] = text.split(/\r\n|\r|\n/u);
      open.push(rest);
      for (const line of next) {
        controller.enqueue(`${correctedLine(open.join(''))}\n`);
        open = [line];
      }
    },
    flush: (controller) => controller.enqueue(correctedLine(open.join(''))),
  });
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

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import * as z from 'zod';
import type { StreamingFetch } from '../../core/api-clients.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** JSON-RPC's internal error, for servers that send an error without a code. */
const INTERNAL = -32_603;

/** What a validator reports. */
const issues = z.array(z.object({ message: z.string(), path: z.array(z.union([z.string(), z.number()])) })).min(1);
const MOST_NAMED = 3;

/**
 * A message with small slips of servers corrected, which the SDK refuses: null for what could be left out, such as
 * `error: null` beside a result, a missing `jsonrpc`, an error without `code` or `message`, PHP's lists for empty objects.
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
  if (!isObject(result)) return Array.isArray(result) && result.length === 0 ? {} : (result ?? {});
  // Only the answer to `initialize` is read strictly.
  if (typeof result['protocolVersion'] !== 'string') return withoutNulls(result);
  const { capabilities, serverInfo, ...rest } = withoutNulls(result, true);
  const able = Object.entries(isObject(capabilities) ? capabilities : {}).filter(([, value]) => value !== false);
  return {
    ...rest,
    capabilities: Object.fromEntries(able.map(([name, value]) => [name, isObject(value) ? value : {}])),
    serverInfo: { name: 'unnamed', version: '', ...(isObject(serverInfo) ? serverInfo : {}) },
  };
}

/** `deep`: nor inside of it. */
function withoutNulls(value: JsonObject, deep = false): JsonObject {
  const inside = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(inside);
    return isObject(item) ? withoutNulls(item, true) : item;
  };
  const kept = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(deep ? kept.map(([key, item]) => [key, inside(item)]) : kept);
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
 * Rewrites an event stream line by line. A carriage return ends a line at once: the SDK waits for what follows it, which
 * would hold the event back until the next one.
 */
function eventLines(): TransformStream<string, string> {
  // In pieces, because adding to a long line would copy it again and again.
  let open: string[] = [];
  let endedByReturn = false;
  const line = (): string => {
    const text = open.join('');
    return text.startsWith('data:') ? `data: ${correctedText(text.slice(5).trimStart())}` : text;
  };
  return new TransformStream({
    transform: (chunk, controller) => {
      const text = endedByReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
      if (chunk !== '') endedByReturn = chunk.endsWith('\r');
      const [rest = '', ...next] = text.split(/\r\n|\r|\n/u);
      open.push(rest);
      for (const begun of next) {
        controller.enqueue(`${line()}\n`);
        open = [begun];
      }
    },
    flush: (controller) => controller.enqueue(line()),
  });
}

function correctedText(text: string): string {
  try {
    return JSON.stringify(corrected(JSON.parse(text)));
  } catch {
    return text;
  }
}

/** An error's text, with a validator's report (a JSON list of issues) told in a few words. */
export function withoutReports(text: string): string {
  const from = text.indexOf('[');
  const to = text.lastIndexOf(']') + 1;
  const found = issuesOf(text.slice(from, to));
  if (found === undefined) return text;
  const named = found.slice(0, MOST_NAMED).map(({ message, path }) => {
    return path.length === 0 ? message : `${path.join('.')}: ${message}`;
  });
  const more = found.length > MOST_NAMED ? `; and ${found.length - MOST_NAMED} more` : '';
  const lead = text.slice(0, from).trim() || 'what it sent does not fit the protocol:';
  return `${lead} ${named.join('; ')}${more}${text.slice(to)}`;
}

function issuesOf(json: string): z.output<typeof issues> | undefined {
  try {
    return issues.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

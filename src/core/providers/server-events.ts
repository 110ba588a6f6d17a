import * as z from 'zod';
import { isJson } from '../util/bare-json.ts';

/** Stands for `[DONE]`: the server says that its answer is complete. */
export const DONE = Symbol('[DONE]');

/**
 * Reads the events of a streamed answer, or its one object where the server sent a JSON body instead of a stream. Used in
 * place of the SDKs' parsers, which hide `[DONE]` and need `event:` lines: every dialect names the type in the data too.
 * An error in place of an event is thrown in the shape of the SDKs' own. Throws a `SyntaxError` for data that isn't JSON.
 */
export async function* serverEvents<Raw extends object>(response: Response): AsyncGenerator<Raw | typeof DONE> {
  if (response.body === null || /html/iu.test(response.headers.get('content-type') ?? '')) return;
  const reader = new EventReader();
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    for (const data of reader.feed(text)) yield* eventOf<Raw>(data, response.headers);
    if (reader.isOver) return;
  }
  for (const data of reader.end()) yield* eventOf<Raw>(data, response.headers);
}

function* eventOf<Raw extends object>(data: string, headers: Headers): Generator<Raw | typeof DONE> {
  if (data === '[DONE]') {
    yield DONE;
    return;
  }
  const value: Raw | null = JSON.parse(data);
  if (typeof value !== 'object' || value === null) return;
  const error: unknown = Reflect.get(value, 'error');
  if (error !== undefined && error !== null && error !== '' && error !== false) throw serverError(error, headers);
  // vLLM's.
  if (Reflect.get(value, 'object') === 'error') throw serverError(value, headers);
  const refused = 'base_resp' in value ? miniMaxError.safeParse(value).data : undefined;
  if (refused !== undefined && refused.base_resp.status_code !== 0) {
    const { status_code: code, status_msg: message } = refused.base_resp;
    throw serverError({ code, status: MINIMAX_STATUS[code], message }, headers);
  }
  yield value;
}

const miniMaxError = z.object({ base_resp: z.object({ status_code: z.int(), status_msg: z.string() }) });

/**
 * The HTTP statuses that MiniMax's own codes stand for, which come in an answer with status 200. Other codes are faults of
 * the server that pass. https://platform.minimax.io/docs/api-reference/errorcode
 */
const MINIMAX_STATUS: Readonly<Record<number, number>> = {
  1001: 504,
  1002: 429,
  1004: 401,
  1008: 402,
  1026: 400,
  1027: 400,
  1039: 400,
  2013: 400,
  2045: 429,
  2049: 401,
  2056: 429,
};

/** An error that a server sent within an answer. The SDKs keep the body in `error`, by which `errors.ts` knows it. */
function serverError(error: unknown, headers: Headers): Error {
  const message: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : error;
  return Object.assign(new Error(typeof message === 'string' ? message : 'the server failed'), { error, headers });
}

const LINE_END = /\r\n|\n|\r(?!$)/u;

/** Cuts a body into the data of its events. */
class EventReader {
  #rest = '';
  #data: string[] = [];
  /** A JSON body has been read. Some servers keep the connection open after it. */
  isOver = false;
  /** The body is one JSON text and no stream of events. Undefined until its first character. */
  #isJson: boolean | undefined;

  *feed(text: string): Generator<string> {
    this.#rest += text;
    this.#isJson ??= /^\s*$/u.test(this.#rest) ? undefined : /^\s*[{[]/u.test(this.#rest);
    if (this.#isJson === true && /[}\]]\s*$/u.test(text) && isWhole(this.#rest)) {
      this.isOver = true;
      yield this.#rest;
    }
    if (this.#isJson === true || this.#isJson === undefined) return;
    const lines = this.#rest.split(LINE_END);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) yield* this.#line(line);
    // The empty line after the last event may never come.
    if (this.#data.length > 0 && isWhole(this.#data.join('\n'))) yield* this.#flush();
  }

  /** Data that ends in the middle isn't an event. */
  *end(): Generator<string> {
    if (this.#isJson === true) {
      yield this.#rest;
      return;
    }
    yield* this.#line(this.#rest.replace(/\r$/u, ''));
    if (this.#data.length > 0 && isWhole(this.#data.join('\n'))) yield* this.#flush();
  }

  *#line(line: string): Generator<string> {
    if (line === '') yield* this.#flush();
    if (!line.startsWith('data:')) return;
    const data = line.slice(5).trim();
    // Some servers leave out the empty line between two events.
    if (this.#data.length > 0 && isWhole(this.#data.join('\n'))) yield* this.#flush();
    if (data !== '') this.#data.push(data);
  }

  *#flush(): Generator<string> {
    if (this.#data.length > 0) yield this.#data.join('\n');
    this.#data = [];
  }
}

function isWhole(data: string): boolean {
  return data === '[DONE]' || isJson(data);
}

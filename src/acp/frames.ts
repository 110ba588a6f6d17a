import type { Readable, Writable } from 'node:stream';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import { othersFirst } from '../core/util/wake.ts';

/** Bytes of one frame; a longer one is answered with an error, and what follows it is read. */
const LONGEST_FRAME = 8_000_000;
const NEWLINE = 0x0a;

const PARSE_ERROR = { code: -32_700, message: 'Parse error: the line is no JSON.' };
const NO_REQUEST = { code: -32_600, message: 'Invalid request: each line has to be one JSON object.' };
const TOO_LONG = { code: -32_600, message: `Invalid request: a line may have at most ${LONGEST_FRAME} bytes.` };

/**
 * JSON-RPC over two streams of bytes, one message a line. A line that is none is answered with a protocol error and never
 * ends the connection, which ends with the input.
 */
export function frameStream(input: Readable, output: Writable): Stream {
  let isOpen = true;
  output.on('error', () => (isOpen = false));
  const write = (message: unknown): Promise<void> =>
    new Promise((resolve) => {
      if (isOpen) output.write(`${JSON.stringify(message)}\n`, () => resolve());
      else resolve();
    });
  const refuse = (error: { readonly code: number; readonly message: string }): void =>
    void write({ jsonrpc: '2.0', id: null, error });
  const readable = new ReadableStream<AnyMessage>({
    start: async (controller) => {
      const lines = new Lines();
      try {
        for await (const chunk of input) {
          for (const line of lines.push(chunk as Buffer)) {
            if (line === null) refuse(TOO_LONG);
            else take(line, { refuse, enqueue: (message) => controller.enqueue(message) });
            // The SDK offers a message to one handler after the other, so a cancel would come after the prompt behind it.
            await othersFirst();
          }
        }
      } catch {
        // An input that fails has ended.
      }
      controller.close();
    },
  });
  return { readable, writable: new WritableStream<AnyMessage>({ write }) };
}

function take(
  line: Buffer,
  to: { readonly refuse: (error: typeof PARSE_ERROR) => void; readonly enqueue: (message: AnyMessage) => void },
): void {
  const text = line.toString('utf8').trim();
  if (text === '') return;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    to.refuse(PARSE_ERROR);
    return;
  }
  // What is in it is checked by the SDK.
  if (isObject(value)) to.enqueue(withServers(value) as AnyMessage);
  else to.refuse(NO_REQUEST);
}

/** Requests that open a conversation. The schema demands `mcpServers`, which editors without servers leave out or set to null. */
const OPENS: ReadonlySet<unknown> = new Set(['session/new', 'session/load', 'session/resume', 'session/fork']);

function withServers(message: Record<string, unknown>): Record<string, unknown> {
  const { method, params } = message;
  if (!OPENS.has(method) || !isObject(params)) return message;
  return { ...message, params: { ...params, mcpServers: params['mcpServers'] ?? [] } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Cuts bytes into lines; null stands for one that was too long. */
class Lines {
  #pieces: Buffer[] = [];
  #length = 0;
  #isTooLong = false;

  *push(chunk: Buffer): Generator<Buffer | null> {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk.subarray(from, at));
      yield this.#isTooLong ? null : Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#length = 0;
      this.#isTooLong = false;
      from = at + 1;
    }
    this.#add(chunk.subarray(from));
  }

  #add(piece: Buffer): void {
    if (this.#isTooLong) return;
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length <= LONGEST_FRAME) return;
    this.#isTooLong = true;
    this.#pieces = [];
  }
}

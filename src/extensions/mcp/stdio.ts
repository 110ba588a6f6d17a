import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { AppError, errorMessage, sleep, type Clock } from '../../core/api.ts';
import { ByteLines, findProgram, runEnclosed, type EnclosedProcess, type Program } from '../../core/api-sandbox.ts';
import { corrected } from './messages.ts';

/** How long a server may take to leave once its input is closed. */
const LEAVE_MS = 400;
const MOST_MESSAGE_BYTES = 10 * 1024 * 1024;
const MOST_STDERR_BYTES = 64 * 1024;
const LINE_END = Buffer.from('\n');

/**
 * Speaks to a server that is a child process outside of the sandbox. When the transport is closed, the server ends by
 * itself or the assistant is killed, everything that the server started ends too.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  /** Told each line on standard error. */
  onStderr?: (line: string) => void;
  readonly #program: Program;
  readonly #options: { readonly clock: Clock; readonly mark: string };
  #child: EnclosedProcess | undefined;
  #closing: Promise<void> | undefined;
  /** What ended the server: `exit code 1`, `signal SIGKILL`; undefined while it is running. */
  end: string | undefined;
  /** How many lines on standard output weren't messages. */
  garbage = 0;

  /** `mark`: what a later process finds the server by if this one is killed. */
  constructor(program: Program, options: { readonly clock: Clock; readonly mark: string }) {
    this.#program = program;
    this.#options = options;
  }

  /** Throws `mcp-start` when the program can't be started. */
  async start(): Promise<void> {
    const { command, cwd, environment } = this.#program;
    const [name = ''] = command;
    if (!name.includes('/') && findProgram(name, environment['PATH'] ?? '') === undefined) {
      throw startError(`there is no program ${JSON.stringify(name)} in its PATH`);
    }
    if (!existsSync(cwd)) throw startError(`there is no folder ${JSON.stringify(cwd)} to start it in`);
    const outside = { engine: null, mounts: [], network: true, input: true };
    const child = runEnclosed(this.#program, { ...outside, ...this.#options });
    this.#child = child;
    readLines(child.stdout, MOST_MESSAGE_BYTES, (line) => this.#receive(line));
    readLines(child.stderr, MOST_STDERR_BYTES, (line = 'a line that is too long') => {
      if (line.trim() !== '') this.onStderr?.(line);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream?.on('error', (error) => this.onerror?.(error));
    }
    void child.exit
      .then(({ code, signal }) => (signal === null ? `exit code ${code}` : `signal ${signal}`), errorMessage)
      .then((end) => {
        this.end ??= end;
        return this.close();
      });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin?.writable !== true) return Promise.reject(new Error('the server has ended'));
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Resolves when the process and everything it started are gone; may be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#stop(this.#child);
    return this.#closing;
  }

  async #stop(child: EnclosedProcess | undefined): Promise<void> {
    child?.stdin?.end();
    await Promise.race([child?.exit.catch(() => {}), sleep(this.#options.clock, LEAVE_MS)]);
    await child?.end();
    this.onclose?.();
  }

  #receive(line: string | undefined): void {
    if (this.#closing !== undefined || line?.trim() === '') return;
    if (line === undefined) {
      this.end ??= `a line of more than ${MOST_MESSAGE_BYTES} bytes`;
      void this.close();
      return;
    }
    try {
      this.onmessage?.(JSONRPCMessageSchema.parse(corrected(JSON.parse(line))));
    } catch {
      // The server's slip; the next line may be fine.
      this.garbage += 1;
      this.onerror?.(new Error("a line on standard output isn't a message of the protocol"));
    }
  }
}

/**
 * Calls back with each line of a stream; undefined for one that is too long. The SDK's ReadBuffer won't do: it refuses a
 * message before its slips can be corrected.
 */
function readLines(stream: Readable, most: number, onLine: (line?: string) => void): void {
  let lines = new ByteLines(most);
  const read = (chunk: Buffer): void => {
    const whole = lines.push(chunk);
    if (whole === undefined) lines = new ByteLines(most);
    for (const line of whole ?? [undefined]) onLine(line);
  };
  stream.on('data', read).once('end', () => read(LINE_END));
}

function startError(why: string): AppError {
  return new AppError('mcp-start', `it could not be started: ${why}`);
}

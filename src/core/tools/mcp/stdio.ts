import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { findProgram, runEnclosed, type EnclosedProcess } from '../../security/enclosure/enclosure.ts';
import { sleep, type Clock } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { cut } from '../../util/text.ts';
import { corrected } from './messages.ts';

export interface StdioOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process but for what its shell sets. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** Told each line on standard error. */
  readonly onStderr: (line: string) => void;
  /** Told of each line on standard output that isn't a message. */
  readonly onGarbage: () => void;
}

/** How long a server may take to leave once its input is closed. */
const LEAVE_MS = 400;
const MOST_MESSAGE_BYTES = 10 * 1024 * 1024;
const LONGEST_STDERR_LINE = 2_000;

/**
 * Speaks to a server that is a child process outside of the sandbox. When the transport is closed, the server ends by
 * itself or the assistant is killed, everything that the server started ends too.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #options: StdioOptions;
  #child: EnclosedProcess | undefined;
  #closing: Promise<void> | undefined;
  #end: string | undefined;

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  /** What ended the server: `exit code 1`, `signal SIGKILL`; undefined while it is running. */
  get end(): string | undefined {
    return this.#end;
  }

  /** Throws `mcp-start` when the program can't be started. */
  async start(): Promise<void> {
    const { command, args, env, cwd, clock, onStderr } = this.#options;
    if (!command.includes('/') && findProgram(command, env['PATH'] ?? '') === undefined) {
      throw startError(`there is no program ${JSON.stringify(command)} in its PATH`);
    }
    if (!existsSync(cwd)) throw startError(`there is no folder ${JSON.stringify(cwd)} to start it in`);
    const child = runEnclosed(
      { command: [command, ...args], cwd, environment: env },
      { engine: null, mounts: [], network: true, input: true, clock },
    );
    this.#child = child;
    readLines(child.stdout, MOST_MESSAGE_BYTES, (line) => this.#receive(line));
    readLines(child.stderr, LONGEST_STDERR_LINE, (line) => {
      if (line.trim() !== '') onStderr(cut(line, LONGEST_STDERR_LINE));
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream?.on('error', (error) => this.onerror?.(error));
    }
    void child.exit
      .then(({ code, signal }) => (signal === null ? `exit code ${code}` : `signal ${signal}`), errorMessage)
      .then((end) => {
        this.#end ??= end;
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

  #receive(line: string): void {
    if (this.#closing !== undefined || line.trim() === '') return;
    if (line.length > MOST_MESSAGE_BYTES) {
      this.#end ??= `a line of more than ${MOST_MESSAGE_BYTES} bytes`;
      void this.close();
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = JSONRPCMessageSchema.parse(corrected(JSON.parse(line)));
    } catch {
      // The server's slip; the next line may be fine.
      this.#options.onGarbage();
      return;
    }
    this.onmessage?.(message);
  }
}

/**
 * Calls back with each line of a stream; with one that gets longer than `most` characters as far as it has come. The
 * SDK's ReadBuffer won't do: it refuses a message before its slips can be corrected.
 */
function readLines(stream: Readable, most: number, onLine: (line: string) => void): void {
  let open = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    open += chunk;
    // Splitting what has no end yet would copy a long line with every chunk.
    if (!chunk.includes('\n') && open.length <= most) return;
    const lines = open.split('\n');
    const rest = lines.pop() ?? '';
    open = rest.length > most ? '' : rest;
    for (const line of rest.length > most ? [...lines, rest] : lines) onLine(line);
  });
  stream.once('end', () => onLine(open));
}

function startError(why: string): AppError {
  return new AppError('mcp-start', `it could not be started: ${why}`);
}

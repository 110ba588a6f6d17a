import { existsSync } from 'node:fs';
import { serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { findProgram, runEnclosed, type EnclosedProcess } from '../../security/enclosure/enclosure.ts';
import { ByteLines } from '../../util/byte-lines.ts';
import { sleep, type Clock } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { LineSplitter } from './lines.ts';
import { corrected } from './messages.ts';

/** One server as the configuration has it. */
export interface McpSettings {
  readonly type: 'stdio' | 'http' | 'streamable-http' | 'sse' | null;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Null: the workspace. */
  readonly cwd: string | null;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Patterns with `*` of the tools that are offered. */
  readonly tools: readonly string[];
  readonly role: 'owner' | 'trusted';
  /** Whether its read-only hints are trusted. */
  readonly trusted: boolean;
  readonly timeouts: { readonly startSeconds: number; readonly callSeconds: number };
}

export interface StdioOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process but for the marker of its tree. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** Told each line on standard error. */
  readonly onStderr: (line: string) => void;
  /** Told of each line on standard output that is no message. */
  readonly onGarbage: () => void;
}

/** How long a server may take to leave once its input is closed. */
const LEAVE_MS = 400;
const MOST_MESSAGE_BYTES = 10 * 1024 * 1024;

/**
 * Speaks to a server that is a process of ours, outside of the sandbox: when it is closed, or ends by itself, nothing that it
 * started runs any more.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #options: StdioOptions;
  readonly #lines = new ByteLines(MOST_MESSAGE_BYTES);
  #child: EnclosedProcess | undefined;
  #closing: Promise<void> | undefined;
  #end: string | undefined;

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  /** What ended it: `exit code 1`, `signal SIGKILL`; undefined while it runs. */
  get end(): string | undefined {
    return this.#end;
  }

  /** Throws `mcp-start` when the program cannot be started. */
  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#options;
    const path = env['PATH'] ?? '';
    if (!command.includes('/') && findProgram(command, path) === undefined) {
      throw startError(`there is no program ${JSON.stringify(command)} in its PATH`);
    }
    if (!existsSync(cwd)) throw startError(`there is no folder ${JSON.stringify(cwd)} to start it in`);
    const child = runEnclosed(
      { command: [command, ...args], cwd, environment: env },
      { engine: null, mounts: [], network: true, input: true, clock: this.#options.clock },
    );
    this.#child = child;
    this.#read(child);
    void child.exit
      .then(({ code, signal }) => (signal === null ? `exit code ${code}` : `signal ${signal}`), errorMessage)
      .then((end) => {
        this.#end ??= end;
        return this.close();
      });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin == null || !stdin.writable) return Promise.reject(new Error('the server has ended'));
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Resolves when the process and all it started are gone; harmless when repeated. */
  close(): Promise<void> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  async #stop(): Promise<void> {
    const { clock } = this.#options;
    const child = this.#child;
    if (child !== undefined) {
      child.stdin?.end();
      await Promise.race([child.exit.catch(() => {}), sleep(clock, LEAVE_MS)]);
      await child.end();
    }
    this.onclose?.();
  }

  #read({ stdin, stdout, stderr }: EnclosedProcess): void {
    const lines = new LineSplitter(this.#options.onStderr);
    stderr.on('data', (chunk: Buffer) => lines.push(chunk));
    stderr.once('close', () => lines.end());
    stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
    for (const stream of [stdin, stdout, stderr]) stream?.on('error', (error) => this.onerror?.(error));
  }

  #receive(chunk: Buffer): void {
    if (this.#closing !== undefined) return;
    const lines = this.#lines.push(chunk);
    if (lines === undefined) {
      this.#end ??= `a line of more than ${MOST_MESSAGE_BYTES} bytes`;
      void this.close();
      return;
    }
    for (const line of lines) {
      const message = readMessage(line);
      // A line that is no message is the server's slip; the next one may be fine.
      if (message === undefined) this.#options.onGarbage();
      else this.onmessage?.(message);
    }
  }
}

function readMessage(line: string): JSONRPCMessage | undefined {
  try {
    return JSONRPCMessageSchema.parse(corrected(JSON.parse(line)));
  } catch {
    return undefined;
  }
}

function startError(why: string): AppError {
  return new AppError('mcp-start', `it could not be started: ${why}`);
}

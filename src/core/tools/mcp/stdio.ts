import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { sleep, type Clock } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { cut } from '../../util/text.ts';
import { findProgram } from '../exec/shell.ts';
import { underSubreaper } from '../exec/subreaper.ts';
import { corrected } from './messages.ts';

export interface StdioOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process but for `PWD`. */
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
/** After SIGTERM; longer than the subreaper takes to kill what ignores it. */
const TERM_MS = 3_000;
const KILL_MS = 400;
/** For what is still in the pipes of a process that has ended. */
const DRAIN_MS = 300;
const MOST_MESSAGE_BYTES = 10 * 1024 * 1024;
const LONGEST_STDERR_LINE = 2_000;

/**
 * Speaks to a server that is a child process. When the transport is closed, the server ends by itself or the assistant is
 * killed, everything that the server started ends too: under the subreaper wherever it went, else its process group.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #options: StdioOptions;
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #exited: Promise<unknown> = Promise.resolve();
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
    const { command, args, env, cwd, clock } = this.#options;
    if (!command.includes('/') && findProgram(command, env['PATH'] ?? '') === undefined) {
      throw startError(`there is no program ${JSON.stringify(command)} in its PATH`);
    }
    if (!existsSync(cwd)) throw startError(`there is no folder ${JSON.stringify(cwd)} to start it in`);
    const [program = command, ...rest] = underSubreaper([command, ...args]) ?? [command, ...args];
    const child = spawn(program, rest, {
      cwd,
      env: { ...env, PWD: cwd },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.once('exit', (code, signal) => (this.#end ??= signal === null ? `exit code ${code}` : `signal ${signal}`));
    this.#exited = once(child, 'exit').catch(() => {});
    const drained = once(child, 'close').catch(() => {});
    this.#read(child);
    await once(child, 'spawn').catch((error: unknown) => {
      throw startError(errorMessage(error));
    });
    void this.#exited.then(async () => {
      await Promise.race([drained, sleep(clock, DRAIN_MS)]);
      await this.close();
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || !stdin.writable) return Promise.reject(new Error('the server has ended'));
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Resolves when the process and everything it started are gone; may be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  async #stop(): Promise<void> {
    const child = this.#child;
    if (child?.pid !== undefined) {
      const group = -child.pid;
      child.stdin.end();
      await this.#exitsWithin(LEAVE_MS);
      // Its group may still have processes when it has left.
      signalGroup(group, 'SIGTERM');
      await this.#exitsWithin(TERM_MS);
      signalGroup(group, 'SIGKILL');
      await this.#exitsWithin(KILL_MS);
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    }
    this.onclose?.();
  }

  async #exitsWithin(ms: number): Promise<void> {
    await Promise.race([this.#exited, sleep(this.#options.clock, ms)]);
  }

  #read({ stdin, stdout, stderr }: ChildProcessByStdio<Writable, Readable, Readable>): void {
    const { onStderr, onGarbage } = this.#options;
    readLines(stderr, LONGEST_STDERR_LINE, (line) => {
      if (line.trim() !== '') onStderr(cut(line, LONGEST_STDERR_LINE));
    });
    readLines(stdout, MOST_MESSAGE_BYTES, (line) => {
      if (this.#closing !== undefined) return;
      if (line.length > MOST_MESSAGE_BYTES) {
        this.#end ??= `a line of more than ${MOST_MESSAGE_BYTES} bytes`;
        void this.close();
        return;
      }
      const message = readMessage(line);
      // A line that isn't a message is the server's slip; the next one may be fine.
      if (message !== undefined) this.onmessage?.(message);
      else if (line.trim() !== '') onGarbage();
    });
    for (const stream of [stdin, stdout, stderr]) stream.on('error', (error) => this.onerror?.(error));
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

function readMessage(line: string): JSONRPCMessage | undefined {
  try {
    return JSONRPCMessageSchema.parse(corrected(JSON.parse(line)));
  } catch {
    return undefined;
  }
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(group, signal);
  } catch {
    // The whole group has ended.
  }
}

function startError(why: string): AppError {
  return new AppError('mcp-start', `it could not be started: ${why}`);
}

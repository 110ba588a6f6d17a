import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { sleep, type Clock } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { findProgram } from '../exec/shell.ts';
import { MARKER, ProcessTree, send } from '../exec/process-tree.ts';
import { underSubreaper } from '../exec/subreaper.ts';
import { ByteLines, LineSplitter } from './lines.ts';
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

/** How long a server may take to leave once its input is closed, and after SIGTERM. */
const LEAVE_MS = 400;
const TERM_GRACE_MS = 800;
/** What is still in the pipe of a process that ended. */
const DRAIN_MS = 300;
const MOST_MESSAGE_BYTES = 10 * 1024 * 1024;

/** The shell only leaves the mark by which everything that the server starts is found again. */
const MARKED = `export ${MARKER}=$$; exec "$@"`;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Speaks to a server that is a process of ours, in a session of its own: when it is closed, or ends by itself, nothing
 * that it started runs any more, as far as it can be found. Under a subreaper all of it is found.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #options: StdioOptions;
  readonly #lines = new ByteLines(MOST_MESSAGE_BYTES);
  #child: Child | undefined;
  #tree = new ProcessTree(undefined);
  #exited: Promise<void> = Promise.resolve();
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
    const supervised = underSubreaper([command, ...args]);
    const child = spawn('/bin/sh', ['-c', MARKED, 'sh', ...(supervised ?? [command, ...args])], {
      cwd,
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#tree = new ProcessTree(child.pid);
    // Without the subreaper, orphans could no longer be found; it ends with the last of them.
    if (supervised !== null && child.pid !== undefined) this.#tree.spare([child.pid]);
    this.#child = child;
    const started = new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => reject(startError(errorMessage(error))));
    });
    const gone = new Promise<void>((resolve) => {
      child.once('error', () => resolve());
      child.once('exit', (code, signal) => {
        this.#end ??= signal === null ? `exit code ${code}` : `signal ${signal}`;
        resolve();
      });
    });
    this.#exited = gone;
    const drained = new Promise<void>((resolve) => child.once('close', () => resolve()));
    this.#read(child);
    await started;
    void gone.then(async () => {
      await Promise.race([drained, sleep(this.#options.clock, DRAIN_MS)]);
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

  /** Resolves when the process and all it started are gone; harmless when repeated. */
  close(): Promise<void> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  async #stop(): Promise<void> {
    const { clock } = this.#options;
    const child = this.#child;
    if (child !== undefined) {
      child.stdin.end();
      await Promise.race([this.#exited, sleep(clock, LEAVE_MS)]);
      await this.#tree.end(clock, TERM_GRACE_MS);
      await Promise.race([this.#exited, sleep(clock, LEAVE_MS)]);
      if (this.#end === undefined && child.pid !== undefined) send(child.pid, 'SIGKILL');
      child.stdout.destroy();
      child.stderr.destroy();
      child.stdin.destroy();
    }
    this.onclose?.();
  }

  #read({ stdin, stdout, stderr }: Child): void {
    const lines = new LineSplitter(this.#options.onStderr);
    stderr.on('data', (chunk: Buffer) => lines.push(chunk));
    stderr.once('close', () => lines.end());
    stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
    for (const stream of [stdin, stdout, stderr]) stream.on('error', (error) => this.onerror?.(error));
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

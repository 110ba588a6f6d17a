import { realpathSync, existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import type { Role } from '../../bus/messages.ts';
import { runEnclosed, type Mount } from '../../security/enclosure/enclosure.ts';
import type { Sandbox } from '../../security/enclosure/sandbox.ts';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';
import { runnableFile } from '../../util/runnable-file.ts';

/** What a child process is asked to make text of. */
export interface ReadRequest<Facts> {
  /** The `.ts` file of its program, which calls `answerWith`; the published package has a bundle of that name. */
  readonly program: URL;
  /** What it is told beside the bytes, as JSON. */
  readonly task: unknown;
  /** A file that was opened and judged, or bytes. */
  readonly source: { readonly descriptor: number; readonly size: number } | { readonly bytes: Uint8Array };
  /** What it answers beside the text. It has read bytes of strangers, so its answer is checked like one of theirs. */
  readonly facts: z.ZodType<Facts>;
  readonly noun: 'document' | 'page';
  /** Time for a small one; each megabyte adds a second, up to 30 s. */
  readonly baseMs: number;
  /** For whom: guests get less memory, and one of them at a time. */
  readonly role: Role;
  readonly signal: AbortSignal;
}

/**
 * Makes text of strangers' bytes in a child process. Throws a sentence: `document-unreadable`, `document-memory`,
 * `document-late`; or the signal's reason, once the child is gone.
 */
export type ReadApart = <Facts>(request: ReadRequest<Facts>) => Promise<Facts & { readonly text: string }>;

/** What a child finds on the first line of its standard input. The bytes follow, or lie in the file on descriptor 4. */
export interface ChildTask {
  readonly task: unknown;
  /** Of the file; null: the bytes follow. */
  readonly fileSize: number | null;
  /** Milliseconds after which it should answer with what it has. */
  readonly budgetMs: number;
}

const MB = 1024 ** 2;
/** Of this process and the child together; of a guest's child alone. */
const MOST_BYTES = 300 * MB;
const MOST_GUEST_BYTES = 150 * MB;
/** A child has so much in any case, however large this process is: with less not even a letter could be read. */
const LEAST_BYTES = 128 * MB;
/** What a child may take between two looks at it. */
const SLACK_BYTES = 16 * MB;
const MOST_OUTPUT_BYTES = 12 * MB;
const MS_PER_MB = 1_000;
const LONGEST_MS = 30_000;
/** Share of the time limit for reading; the rest is for returning what was read. */
const READING_SHARE = 0.7;

/** Small buffers for young objects, one thread of V8's own: less memory at the start, the same text at the end. */
const NODE_OPTIONS = ['--max-semi-space-size=4', '--v8-pool-size=1', '--permission'];
/** What ends a process that gets no more memory: V8 itself, the kernel. */
const OUT_OF_MEMORY = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL', 'SIGSEGV', 'SIGBUS'] as const;
/** The exit code of a child that noticed it by itself; also in child.ts, which loads nothing that it does not need. */
const MEMORY_EXIT_CODE = 77;

const HEAD = z.union([z.object({ error: z.string() }), z.object({ facts: z.record(z.string(), z.unknown()) })]);

/**
 * Reads one document at a time, in the sandbox where there is one, so that the limit of memory holds for all together; of those
 * who wait one at most is a guest's, so that guests can't fill the queue. The child has no environment and Node's
 * permission to read the program, but no other file, and to start nothing.
 */
export function createReader(
  app: { readonly clock: Clock; readonly sandbox?: Pick<Sandbox, 'probe'> | null },
  {
    timeoutMs,
    ownBytes = () => process.memoryUsage.rss(),
  }: {
    /** Of one document. @default by its size */ readonly timeoutMs?: number;
    /** Bytes that this process holds. @default as the system says it */ readonly ownBytes?: () => number;
  } = {},
): ReadApart {
  const all = new Slots(1);
  const guests = new Slots(1);
  return async (request) => {
    const { source, noun, role, signal } = request;
    const isGuest = role === 'guest';
    using _guest = isGuest ? await guests.hold(signal) : undefined;
    using _one = await all.hold(signal);
    const probe = await app.sandbox?.probe();
    const size = 'bytes' in source ? source.bytes.length : source.size;
    const limitMs = timeoutMs ?? Math.min(LONGEST_MS, request.baseMs + (size / MB) * MS_PER_MB);
    using limit = deadline(app.clock, limitMs, 'reading a document');
    const most = isGuest ? MOST_GUEST_BYTES : MOST_BYTES;
    const { command, mounts } = nodeCommand(request.program);
    signal.throwIfAborted();
    const child = runEnclosed(
      { command, cwd: '/', environment: {} },
      {
        engine: probe?.available === true ? probe.engine : null,
        // A group of its own would be limited twice, the one of commands would let it weigh on theirs.
        group: null,
        mounts,
        network: false,
        input: true,
        descriptor: 'bytes' in source ? undefined : source.descriptor,
        limits: {
          memoryBytes: () => Math.min(most, Math.max(LEAST_BYTES, MOST_BYTES - ownBytes())) - SLACK_BYTES,
          cpuSeconds: Math.ceil((limitMs * 2) / 1_000) + 5,
        },
        clock: app.clock,
      },
    );
    const pieces: Buffer[] = [];
    let length = 0;
    child.stdout.on('data', (piece: Buffer) => {
      length += piece.length;
      if (length <= MOST_OUTPUT_BYTES) pieces.push(piece);
      else void child.end();
    });
    child.stderr.resume();
    const fileSize = 'bytes' in source ? null : size;
    const task: ChildTask = { task: request.task, fileSize, budgetMs: limitMs * READING_SHARE };
    child.stdin?.write(`${JSON.stringify(task)}\n`);
    child.stdin?.end('bytes' in source ? source.bytes : undefined);
    try {
      const { code, signal: name, exceeded } = await raceAbort(child.exit, AbortSignal.any([signal, limit.signal]));
      if (exceeded !== 'memory' && length > MOST_OUTPUT_BYTES) throw unreadable('there is too much text in it');
      if (exceeded !== 'memory' && code === 0) return answerOf(request.facts, Buffer.concat(pieces));
      const isFull = OUT_OF_MEMORY.some((one) => one === name || code === 128 + constants.signals[one]);
      if (exceeded !== 'memory' && code !== MEMORY_EXIT_CODE && !isFull)
        throw unreadable(`its reader ended with ${name ?? `exit code ${code ?? '?'}`}`);
      const why = `needs more than ${most / MB} MB of memory to read, so reading it was stopped. It may be made to overload programs that open it`;
      throw new AppError('document-memory', `The ${noun} ${why}; ask for a smaller or simpler copy.`);
    } catch (error) {
      if (signal.aborted || !limit.signal.aborted) throw error;
      const seconds = Number((limitMs / 1_000).toPrecision(2));
      const why = `could not be read in ${seconds} s, so reading it was stopped. It is too complicated`;
      throw new AppError('document-late', `The ${noun} ${why}; ask for a smaller or simpler copy.`);
    } finally {
      await child.end();
    }
  };
}

/** Node with a program of ours, and what it has to see of the disk for that. */
function nodeCommand(file: URL): { readonly command: readonly string[]; readonly mounts: readonly Mount[] } {
  const program = runnableFile(file);
  const isSource = program.endsWith('.ts');
  // The package; a source has the packages that it needs beside it, or somewhere else behind a link.
  const folder = fileURLToPath(new URL(isSource ? '../../../../' : '../', import.meta.url));
  const packages = `${folder}node_modules`;
  const folders = isSource && existsSync(packages) ? [folder, `${realpathSync(packages)}/`] : [folder];
  return {
    command: [process.execPath, ...NODE_OPTIONS, ...folders.map((path) => `--allow-fs-read=${path}*`), program],
    mounts: [process.execPath, ...folders].map((path) => ({ path, as: 'read' })),
  };
}

/** One line of facts, then the text as it is. */
function answerOf<Facts>(facts: z.ZodType<Facts>, output: Buffer): Facts & { readonly text: string } {
  const end = output.indexOf('\n');
  const head = HEAD.parse(JSON.parse(output.toString('utf8', 0, end)));
  if ('error' in head) throw new AppError('document-unreadable', head.error);
  return { ...facts.parse(head.facts), text: output.toString('utf8', end + 1) };
}

function unreadable(why: string): AppError {
  return new AppError('document-unreadable', `It could not be read: ${why}.`);
}

import { existsSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { raceAbort } from '../../util/clock.ts';
import { runEnclosed, type Mount, type RunOptions } from './enclosure.ts';

/** How a program of our own ended. */
export type ProgramEnd =
  | { readonly end: 'answer'; readonly output: Buffer }
  /** It took more memory than it may, and so was ended or could not go on. */
  | { readonly end: 'memory' }
  | { readonly end: 'failed'; readonly reason: string };

export interface OwnProgram extends Pick<RunOptions, 'engine' | 'descriptor' | 'limits' | 'clock'> {
  /** The `.ts` file of the program; in the published package the bundle of that name is used. */
  readonly file: URL;
  /** Written to its standard input, piece by piece. */
  readonly input: readonly Uint8Array[];
  /** Largest output. */
  readonly outputBytes: number;
  readonly signal: AbortSignal;
}

/** Small buffers for young objects, one thread of V8's own: less memory at the start, the same text at the end. */
const NODE_OPTIONS = ['--max-semi-space-size=4', '--v8-pool-size=1', '--permission'];
/** What ends a process that gets no more memory: V8 itself, the kernel. */
const OUT_OF_MEMORY = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL', 'SIGSEGV', 'SIGBUS'] as const;
/** The exit code of a program that noticed it by itself; also in document-child.ts. */
const MEMORY_EXIT_CODE = 77;

/**
 * Runs a program of our own that handles strangers' bytes: in the sandbox if there is one, without environment, with Node's
 * permission to read the program and nothing else (no other file, no child, no thread). When it settles the program is gone.
 * Rejects with the signal's reason.
 */
export async function runOwnProgram({ file, input, outputBytes, signal, ...options }: OwnProgram): Promise<ProgramEnd> {
  signal.throwIfAborted();
  const { command, mounts } = nodeCommand(file);
  const child = runEnclosed(
    { command, cwd: '/', environment: {} },
    { ...options, mounts, network: false, input: true },
  );
  const pieces: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (piece: Buffer) => {
    size += piece.length;
    if (size <= outputBytes) pieces.push(piece);
    else void child.end();
  });
  child.stderr.resume();
  for (const piece of input) child.stdin?.write(piece);
  child.stdin?.end();
  try {
    const { code, signal: name, exceeded } = await raceAbort(child.exit, signal);
    if (exceeded === 'memory' || code === MEMORY_EXIT_CODE) return { end: 'memory' };
    if (size > outputBytes) return { end: 'failed', reason: 'there is too much text in it' };
    if (code === 0) return { end: 'answer', output: Buffer.concat(pieces) };
    if (OUT_OF_MEMORY.some((one) => one === name || code === 128 + constants.signals[one])) return { end: 'memory' };
    return { end: 'failed', reason: `its reader ended with ${name ?? `exit code ${code ?? '?'}`}` };
  } finally {
    await child.end();
  }
}

function nodeCommand(file: URL): { readonly command: readonly string[]; readonly mounts: readonly Mount[] } {
  const isSource = existsSync(file);
  const program = fileURLToPath(isSource ? file : new URL(file.href.replace(/\.ts$/u, '.js')));
  // The package; a source has the packages that it needs beside it, or somewhere else behind a link.
  const folder = fileURLToPath(new URL(isSource ? '../../../../' : '../', import.meta.url));
  const packages = `${folder}node_modules`;
  const folders = isSource && existsSync(packages) ? [folder, `${realpathSync(packages)}/`] : [folder];
  return {
    command: [process.execPath, ...NODE_OPTIONS, ...folders.map((path) => `--allow-fs-read=${path}*`), program],
    mounts: [process.execPath, ...folders].map((path) => ({ path, as: 'read' })),
  };
}

import { existsSync, realpathSync } from 'node:fs';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { makeLimitGroups, removeLimitGroups } from '../../security/sandbox/cgroups.ts';
import type { Clock } from '../../util/clock.ts';
import { watchMemory } from './memory-watchdog.ts';

/** How a child process ended. */
export type ChildEnd =
  | { readonly end: 'answer'; readonly output: Uint8Array }
  /** It took more memory than it may, and so was ended or could not go on. */
  | { readonly end: 'memory' }
  | { readonly end: 'failed'; readonly reason: string };

export interface LimitedProcess {
  /** The `.ts` file of the program; in the published package the bundle of that name is used. */
  readonly file: URL;
  /** Written to its standard input, piece by piece. */
  readonly input: readonly Uint8Array[];
  /** A file that this process has opened; the child has it as descriptor 3. @default none */
  readonly descriptor?: number;
  /** Asked again and again while the child runs: bytes that it may hold at this moment. */
  readonly mostBytes: () => number;
  /** After which the kernel ends it, even when this process is gone. */
  readonly cpuSeconds: number;
  /** Largest output. */
  readonly outputBytes: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Node maps the place of its machine code as data: it counts against RLIMIT_DATA, though it is hardly used. */
const RESERVED_BYTES = 512 * 1024 ** 2;
const MOST_PROCESSES = 32;
const ERROR_BYTES = 64 * 1024;
/** Small buffers for young objects, one thread of V8's own: less memory at the start, the same text at the end. */
const NODE_OPTIONS = ['--max-semi-space-size=4', '--v8-pool-size=1', '--permission'];
/** No core files, small stacks, then the limits: `$1` KiB of data, `$2` seconds, control groups up to `--`. */
const LIMITED = `ulimit -c 0; ulimit -s 2048; ulimit -t "$2"; ulimit -d "$1" 2>/dev/null
unset PWD OLDPWD; shift 2; while [ "$1" != -- ]; do echo 0 > "$1/cgroup.procs" || :; shift; done; shift; exec "$@"`;
/** What ends a process that gets no more memory: V8 itself, the kernel. */
const OUT_OF_MEMORY: ReadonlySet<string> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL', 'SIGSEGV', 'SIGBUS']);
/** The exit code of a program that noticed it by itself; also in document-child.ts. */
const MEMORY_EXIT_CODE = 77;

let children = 0;

/**
 * Runs a program of our own in a child process: in a process group of its own, without environment, from `/`, with
 * Node's permission to read the program and nothing else (no other file, no child, no thread). Its memory is limited by
 * a control group where this process may make one, by RLIMIT_DATA, and by a watchdog. When it settles the child is gone.
 * Rejects with the signal's reason.
 */
export async function runLimited(options: LimitedProcess): Promise<ChildEnd> {
  const { signal, clock, mostBytes, descriptor } = options;
  signal.throwIfAborted();
  const { execa } = await import('execa');
  children += 1;
  const memoryBytes = mostBytes();
  const groups = await makeLimitGroups({ processes: MOST_PROCESSES, memoryBytes }, `document-${children}`);
  try {
    const kill = new AbortController();
    const child = execa('/bin/sh', argumentsOf(options, memoryBytes, groups.folders), {
      env: {},
      extendEnv: false,
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe', ...(descriptor === undefined ? [] : [asExtra(descriptor)])],
      input: Readable.from(options.input, { objectMode: false }),
      encoding: 'buffer',
      maxBuffer: { stdout: options.outputBytes, stderr: ERROR_BYTES },
      stripFinalNewline: false,
      reject: false,
      cancelSignal: AbortSignal.any([signal, kill.signal]),
      killSignal: 'SIGKILL',
      killDescendants: true,
    });
    const onOver = (): void => kill.abort(new Error('a child process holds too much memory'));
    using _watch = child.pid === undefined ? undefined : watchMemory(child.pid, { mostBytes, onOver, clock });
    const ended = await child;
    signal.throwIfAborted();
    if (kill.signal.aborted || ended.exitCode === MEMORY_EXIT_CODE) return { end: 'memory' };
    if (ended.isMaxBuffer) return { end: 'failed', reason: 'there is too much text in it' };
    if (ended.exitCode === 0) return { end: 'answer', output: ended.stdout };
    if (OUT_OF_MEMORY.has(ended.signal ?? '')) return { end: 'memory' };
    return { end: 'failed', reason: `its reader ended with ${ended.signal ?? `exit code ${ended.exitCode ?? '?'}`}` };
  } finally {
    await removeLimitGroups(groups);
  }
}

/** The types of execa name the descriptors 3 to 9 alone; it takes any. */
function asExtra(descriptor: number): 3 {
  return descriptor as 3;
}

function argumentsOf(
  { file, cpuSeconds }: LimitedProcess,
  memoryBytes: number,
  groups: readonly string[],
): readonly string[] {
  const isSource = existsSync(fileURLToPath(file));
  const program = isSource ? file : new URL(file.href.replace(/\.ts$/u, '.js'));
  // The package; a source has the packages that it needs beside it, or somewhere else behind a link.
  const folder = fileURLToPath(new URL(isSource ? '../../../../' : '../', program));
  const packages = `${folder}node_modules`;
  const readable = isSource && existsSync(packages) ? [folder, `${realpathSync(packages)}/`] : [folder];
  const dataKilobytes = Math.round((RESERVED_BYTES + memoryBytes) / 1024);
  const limits = [String(dataKilobytes), String(cpuSeconds), ...groups, '--'];
  const permissions = readable.map((path) => `--allow-fs-read=${path}*`);
  return ['-c', LIMITED, 'sh', ...limits, process.execPath, ...NODE_OPTIONS, ...permissions, fileURLToPath(program)];
}

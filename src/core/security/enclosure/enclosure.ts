import { spawn } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, statfsSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { sleep, type Clock } from '../../util/clock.ts';
import { AppError, errorCode } from '../../util/errors.ts';
import { NotPermitted, type Permit } from '../../util/permit.ts';
import { environmentArguments, FILTER, insideArguments, sandboxArguments } from './arguments.ts';
import { descendants, endMarked, heldBytes, isAlive, MARKER, markerOf, PUMPS, send, supervisor } from './processes.ts';

/** A program to start. */
export interface Program {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** An absolute path, in a sandbox one of a mount. */
  readonly cwd: string;
  /** All that it sees of an environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What a program in the sandbox may use up. */
export interface SandboxLimits {
  /** Processes and threads: of all commands together where a control group counts them, else of each command. @default 512 */
  readonly processes: number;
  /** Bytes of memory: of all commands together where a control group counts them, else of each process. @default 2 GiB */
  readonly memoryBytes: number;
  /** The longest file a command can write. @default 4 GiB */
  readonly fileBytes: number;
  /** Open files of a process. @default 4,096 */
  readonly openFiles: number;
  /** What /tmp can hold, in memory. @default 256 MiB */
  readonly temporaryBytes: number;
}

/** How bubblewrap is called on this machine; found by trying. */
export interface SandboxEngine {
  /** The absolute path of bwrap. */
  readonly program: string;
  /** Arguments that not every machine allows: an own /proc, an own host name, no further namespaces. */
  readonly features: readonly string[];
  /** Folder with the files `passwd` and `group` of the sandbox, and the filter of system calls. */
  readonly folder: string;
  /** False on processors that the filter is not written for. */
  readonly hasFilter: boolean;
  /** Control group that every program joins; null: none can be made here. */
  readonly group: string | null;
  readonly limits: SandboxLimits;
}

/** One place that a program in a sandbox sees; later ones lie over earlier ones. */
export interface Mount {
  /** Real and absolute. */
  readonly path: string;
  /** `hidden`: an empty folder lies over it. */
  readonly as: 'read' | 'write' | 'hidden';
  /** What is seen there. @default what lies there */
  readonly from?: string;
  /** If it does not exist it is left out. @default then nothing runs */
  readonly isOptional?: boolean;
}

/** What a program can reach. */
export interface Enclosure {
  /** Null: no sandbox, so the program has the rights of this process. */
  readonly engine: SandboxEngine | null;
  /** All that it sees beside the programs of the system. Without an engine it sees everything. */
  readonly mounts: readonly Mount[];
  readonly network: boolean;
}

/** What ends a program early. */
export interface ProgramLimits {
  /** Processes at once. @default no limit but that of the sandbox */
  readonly processes?: number;
  /** Bytes that stay free on the disks of its folder and of `/tmp`; of a fuller disk half of what is left. @default nobody looks */
  readonly freeBytes?: number;
  /** Seconds of the processor, after which the kernel ends a process. @default no limit */
  readonly cpuSeconds?: number;
  /** Bytes that all its processes may hold at this moment; asked again and again. @default the limits of the sandbox alone */
  readonly memoryBytes?: () => number;
}

/** The limit that ended a program. */
export type Exceeded = 'processes' | 'freeBytes' | 'memory';

export interface RunOptions extends Enclosure {
  readonly limits?: ProgramLimits;
  /** Standard input is a pipe. @default it is empty */
  readonly input?: boolean;
  /**
   * It is a command of a model: its streams are real pipes, which `/dev/stdout` opens, and where it leaves something running,
   * which is then ended, the last line of its output says so. @default false
   */
  readonly isCommand?: boolean;
  /** What a later process finds it by if this one is killed, see `endLeftPrograms`. @default nothing */
  readonly mark?: string;
  /** Asked in the moment in which it starts. @default always permitted */
  readonly permit?: Pick<Permit, 'check' | 'isGranted'>;
  /** Null: it joins no control group, so that what it uses up is not charged to commands. @default the engine's */
  readonly group?: null;
  /** An open file that it has as descriptor 4. @default none */
  readonly descriptor?: number;
  /** Words that mount a view of the workspace in a namespace of their own and then become the sandbox. @default none */
  readonly view?: { readonly around: readonly string[] };
  readonly clock: Clock;
}

export interface Exit {
  /** Null when a signal ended it; in the sandbox, 128 + n after signal n. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly exceeded: Exceeded | null;
  /** A leftover process was ended, and the output doesn't mention it. */
  readonly hasLeft: boolean;
  /** False: something that it started could not be ended. */
  readonly isClean: boolean;
}

/** A program that was started, with all that it starts. */
export interface EnclosedProcess {
  readonly pid: number | undefined;
  /** Null unless it was given one. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * Resolves when nothing of it runs any more and its outputs were read to their ends: somebody must read them. Rejects
   * with `exec-start` when it could not be started.
   */
  readonly exit: Promise<Exit>;
  /** Ends it with all that it started, outside of a sandbox with a second's grace. Resolves when it is gone, or nothing more can be done. */
  readonly end: () => Promise<void>;
}

const POLL_MS = 250;
const LEAST_LOOK_MS = 4;
/** As fast as memory can be filled, and more. A process that could not be over its limit yet is left alone. */
const BYTES_PER_MS = 2 * 1024 ** 2;
const GRACE_MS = 1_000;
/** A supervisor tries for ten seconds to end what it started. */
const SUPERVISOR_MS = 12_000;
const KILL_MS = 2_000;
/** How long what outlives a program without a supervisor may take to end by itself. */
const LEAVE_MS = 150;

/** Only bash can name descriptors above 9 and make pipes in the middle of a script; it must not take a socket for a login. */
const BASH = ['--norc', '--noprofile', '-c'];

/**
 * Waits for a line on descriptor 3. A descriptor of a folder outside would be a way out, so all are closed that the
 * assistant's own parent left open. `$1`: those that stay.
 */
const LAUNCH = `read -r _ <&3 || exit
for fd in /proc/self/fd/*; do
  fd=\${fd##*/}
  case " 0 1 2 $1 " in *" $fd "*) continue ;; esac
  case $fd in
    [3-9]) eval "exec $fd>&-" ;;
    *[0-9]) [ -z "\${BASH_VERSION-}" ] || eval "exec $fd>&-" ;;
  esac
done
`;
/**
 * Node's pipes are sockets, which `/dev/stdin`, `/dev/stdout` and `/dev/stderr` cannot open on Linux; a `cat` (`$2`) for each
 * makes real pipes. They lie outside of the sandbox, so that what is still in them when the command ends is not lost.
 */
const pump = (to: string): string => `(trap '' HUP INT TERM; unset ${MARKER}; exec "$2" ${to}2>/dev/null)`;
const PUMPED_INPUT = `exec < <${pump('')}\nexport ${PUMPS}=$!\n`;
const PUMPED = ['', '>&2 ']
  .map((to, n) => `exec ${n + 1}> >${pump(to)}\nexport ${PUMPS}="\${${PUMPS}-} $!"\n`)
  .join('');

/** Starts a program. Throws `NotPermitted`, or `exec-start` when the system refuses at once. */
export function runEnclosed(program: Program, options: RunOptions): EnclosedProcess {
  try {
    return start(program, options);
  } catch (error) {
    throw error instanceof NotPermitted ? error : startFailure(error);
  }
}

let programs = 0;

function start({ command, cwd, environment }: Program, options: RunOptions): EnclosedProcess {
  const { engine, limits = {}, input = false, isCommand = false, permit, descriptor, clock } = options;
  const group = options.group === null ? null : (engine?.group ?? null);
  programs += 1;
  const mark = options.mark === undefined ? '' : `${markerOf(options.mark)}${process.pid}.${programs}.`;
  const view = engine === null ? undefined : options.view;
  const around = engine === null ? supervisor(isCommand) : sandboxArguments(engine, options, cwd);
  const path = engine === null ? (environment['PATH'] ?? '') : '';
  const bash = findProgram('bash', path);
  const cat = bash === undefined || !isCommand ? undefined : findProgram('cat', path);
  const script = `${LAUNCH}${cat === undefined ? '' : (input ? PUMPED_INPUT : '') + PUMPED}shift 2\nexec "$@"`;
  const kept = [
    ...(engine === null ? [] : [3, 5]),
    ...(view === undefined ? [] : [6]),
    ...(descriptor === undefined ? [] : [4]),
  ].join(' ');
  using filter = engine?.hasFilter === true ? openFile(join(engine.folder, FILTER)) : undefined;
  const launch = [...(bash === undefined ? ['-c'] : BASH), script, 'launch', kept, cat ?? ''];
  permit?.check();
  const words = [...(view?.around ?? []), ...(around ?? []), ...insideArguments(options), ...command];
  const child = spawn(bash ?? '/bin/sh', [...launch, ...words], {
    cwd: engine === null ? cwd : '/',
    env: { ...(engine === null ? environment : {}), ...(mark === '' ? {} : { [MARKER]: mark }) },
    detached: true,
    stdio: [
      input ? 'pipe' : 'ignore',
      'pipe',
      'pipe',
      'pipe',
      descriptor ?? 'ignore',
      filter?.fd ?? 'ignore',
      view === undefined ? 'ignore' : 'pipe',
    ],
  });
  // A start that fails may have no streams, and tells of it later.
  child.on('error', () => {});
  const pid = child.pid ?? 0;
  const [stdin, stdout, stderr, control] = child.stdio as unknown as [Writable | null, Readable, Readable, Writable];
  const info = (child.stdio as readonly unknown[])[6] as Readable | null | undefined;
  for (const stream of [stdin, control, info]) stream?.on('error', () => {});
  let firstInside = '';
  info?.on('data', (bytes: Buffer) => (firstInside += bytes.toString()));
  const closed = new Promise<Pick<Exit, 'code' | 'signal'>>((resolve, reject) => {
    child.once('error', (error) => reject(startFailure(error)));
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  // A start takes milliseconds, in which this process may have stood still.
  if (child.pid === undefined || permit?.isGranted === false || !joins(child.pid, group)) send(pid, 'SIGKILL');
  else control.end(`\n${engine === null ? '' : environmentArguments(environment)}`);

  const stuck = Promise.withResolvers<Pick<Exit, 'code' | 'signal'>>();
  let exceeded: Exceeded | null = null;
  let isClean = true;
  let hasLeft = false;
  let isEnding = false;
  let isClosed = false;
  const over = closed.then(
    () => (isClosed = true),
    () => (isClosed = true),
  );
  const within = async (ms: number): Promise<boolean> => {
    const late = Promise.withResolvers<boolean>();
    using _timer = clock.timer(ms, () => late.resolve(false));
    return await Promise.race([over, late.promise]);
  };
  /** A process that has ended may be another one by now; the group stays while its outputs are open. */
  const reach = (target: number, name: NodeJS.Signals): void => {
    if (!isClosed && (target < 0 || (child.exitCode === null && child.signalCode === null))) send(target, name);
  };
  const end = async (): Promise<void> => {
    isEnding = true;
    // Bubblewrap alone could leave its child in the first milliseconds.
    if (engine !== null) reach(view === undefined ? pid : -pid, 'SIGKILL');
    else for (const name of ['SIGTERM', 'SIGCONT'] as const) reach(around === null ? -pid : pid, name);
    if (isClosed || (await within(engine === null && around !== null ? SUPERVISOR_MS : GRACE_MS))) return;
    for (const id of [...descendants(pid), pid, -pid]) reach(id, 'SIGKILL');
    if (await within(KILL_MS)) return;
    isClean = false;
    for (const stream of [stdout, stderr]) stream.destroy();
    stuck.resolve({ code: null, signal: null });
  };
  let orphans: Promise<void> | undefined;
  const endOrphans = async (): Promise<void> => {
    await sleep(clock, LEAVE_MS);
    if (mark !== '') {
      const left = await endMarked(mark, clock);
      hasLeft = left !== 'nothing' && !isEnding;
      isClean &&= left !== 'runs';
    }
    reach(-pid, 'SIGKILL');
  };
  child.once('exit', (_code, signal) => {
    // A sandbox and a supervisor end what is left by themselves, but a command can kill its supervisor.
    if (engine === null && (around === null || signal !== null)) orphans = endOrphans();
  });
  const watch = watchLimits(pid, limits, { cwd, clock }, (limit) => {
    exceeded = limit;
    void end();
  });
  const exit = Promise.race([closed, stuck.promise])
    .finally(() => watch[Symbol.dispose]())
    .then(async (ended) => {
      await orphans;
      if (view !== undefined) await untilGone(firstInside, clock);
      return { ...ended, exceeded, hasLeft, isClean };
    });
  exit.catch(() => {});
  return { pid: child.pid, stdin, stdout, stderr, exit, end };
}

/**
 * Bubblewrap passes on the command's exit code while other processes of its namespace are still being killed. The namespace's
 * first process, which `--info-fd` names, ends last.
 */
async function untilGone(info: string, clock: Clock): Promise<void> {
  const first = Number(/"child-pid": (?<pid>\d+)/u.exec(info)?.groups?.['pid']);
  while (isAlive(first)) await sleep(clock, 1);
}

function openFile(path: string): { readonly fd: number } & Disposable {
  const fd = openSync(path, 'r');
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}

/** Puts a process into a control group; false when it can't be limited. */
function joins(pid: number, group: string | null): boolean {
  try {
    if (group !== null) writeFileSync(join(group, 'cgroup.procs'), `${pid}`);
    return true;
  } catch {
    return false;
  }
}

/** Looks at a running program again and again: the more often, the less is left of its memory. */
function watchLimits(
  pid: number,
  { processes, freeBytes, memoryBytes }: ProgramLimits,
  { cwd, clock }: { readonly cwd: string; readonly clock: Clock },
  onOver: (limit: Exceeded) => void,
): Disposable {
  const disks = (freeBytes === undefined ? [] : [cwd, '/tmp']).map((path) => {
    const free = freeOn(path);
    return { path, least: Math.min(freeBytes ?? 0, free > (freeBytes ?? 0) ? Infinity : free / 2) };
  });
  const isWatched = processes !== undefined || freeBytes !== undefined || memoryBytes !== undefined;
  let timer: Disposable | undefined;
  const look = (): void => {
    const all = [pid, ...descendants(pid)];
    const left = memoryBytes === undefined ? Infinity : memoryBytes() - heldBytes(all);
    if (left < 0) onOver('memory');
    else if (disks.some(({ path, least }) => freeOn(path) < least)) onOver('freeBytes');
    else if (processes !== undefined && all.length > processes) onOver('processes');
    else timer = clock.timer(Math.min(POLL_MS, Math.max(LEAST_LOOK_MS, left / BYTES_PER_MS)), look);
  };
  if (isWatched) timer = clock.timer(memoryBytes === undefined ? POLL_MS : LEAST_LOOK_MS, look);
  return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}

/** Bytes that may still be written there; without an end where no one can say. */
function freeOn(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}

/** Where a program is, by a `PATH` and the usual folders. */
export function findProgram(name: string, path: string): string | undefined {
  const folders = [...path.split(':').filter((folder) => isAbsolute(folder)), '/bin', '/usr/bin', '/usr/local/bin'];
  return folders.map((folder) => join(folder, name)).find((file) => isExecutable(file));
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function startFailure(error: unknown): AppError {
  const code = errorCode(error) ?? 'unknown error';
  const message =
    code === 'E2BIG'
      ? 'The command is too long for the system; write it to a file and run that.'
      : `The shell could not be started (${code}).`;
  return new AppError('exec-start', message, { cause: error });
}

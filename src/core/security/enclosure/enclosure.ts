import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import type { Permit } from '../../util/permit.ts';

/** A program to start. */
export interface Program {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** An absolute path, in a sandbox one of a mount. */
  readonly cwd: string;
  /** All that it sees of an environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** One place that a program in a sandbox sees; later ones lie over earlier ones. */
export interface Mount {
  /** Real and absolute. */
  readonly path: string;
  /** `empty-folder` and `empty-file` hide what is there. A missing place can only be mounted with `read`, and is left out then. */
  readonly as: 'read' | 'write' | 'empty-folder' | 'empty-file';
}

/** What bubblewrap can do on this machine; found by trying. */
export interface SandboxEngine {
  /** The absolute path of bwrap. */
  readonly program: string;
}

/** What a program can reach. */
export interface Enclosure {
  /** Bubblewrap; null: no sandbox, so the program has the rights of this process. */
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
  /** Seconds of the processor. @default no limit */
  readonly cpuSeconds?: number;
  /** Bytes of memory that it may hold at this moment; asked again and again. @default that of the sandbox */
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
  /** An open file that it has as descriptor 3. @default none */
  readonly descriptor?: number;
  readonly clock: Clock;
}

export interface Exit {
  /** Null when a signal ended it; in the sandbox, 128 + n after signal n. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly exceeded: Exceeded | null;
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
   * Resolves when nothing of it runs any more and its outputs have been read to their ends: somebody must read them. Rejects
   * with `exec-start` when it could not be started.
   */
  readonly exit: Promise<Exit>;
  /** Ends it with all that it started: SIGTERM, after a second SIGKILL. Resolves when it is gone, or nothing more can be done. */
  end(): Promise<void>;
}

/** Starts a program. Throws `NotPermitted`, or `exec-start` when the system refuses at once. */
export function runEnclosed(program: Program, options: RunOptions): EnclosedProcess {
  void program;
  void options;
  throw new AppError('exec-start', 'Not written yet.');
}

/** Ends what programs with this mark, of a process that was killed, left running; false when something could not be ended. */
export async function endLeftPrograms(mark: string, clock: Clock): Promise<boolean> {
  void mark;
  void clock;
  return await Promise.resolve(true);
}

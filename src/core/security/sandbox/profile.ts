/** What may be used up. */
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

export const DEFAULT_LIMITS: SandboxLimits = {
  processes: 512,
  memoryBytes: 2 * 1024 ** 3,
  fileBytes: 4 * 1024 ** 3,
  openFiles: 4096,
  temporaryBytes: 256 * 1024 ** 2,
};

/** What this machine's bubblewrap can do; found by trying. */
export interface SandboxEngine {
  /** The absolute path of bwrap. */
  readonly program: string;
  /** `new`: an own /proc; `empty`: none, where the machine masks its own (containers). */
  readonly proc: 'new' | 'empty';
  /** bwrap itself forbids further user namespaces; otherwise the filter alone does. */
  readonly disableUserns: boolean;
  /** Commands see the host name `sandbox`, not the machine's; some containers forbid to set one. */
  readonly hostname: boolean;
  /** A file with the filter of system calls; undefined on processors it is not written for. */
  readonly filter: string | undefined;
  /** Folders of control groups that a command joins. */
  readonly groups: readonly string[];
  readonly limits: SandboxLimits;
}

/** What one command sees. All paths are real and absolute. */
export interface SandboxProfile {
  /** The home of the main assistant that `home` lies in: never visible, but for `home`. @default it lies in none */
  readonly host?: string;
  /** The assistant's home: never visible, but for what is named here. */
  readonly home: string;
  /** May be written, but for its protected places, which must exist. */
  readonly workspace: string;
  /** In the workspace. */
  readonly cwd: string;
  /** The owner's private places of the workspace can be read; false hides them. */
  readonly owner: boolean;
  readonly network: boolean;
  /** Folders and files beside the workspace that can be read: skills, the session's spill and media. */
  readonly readRoots: readonly string[];
  /** Programs of the assistant's own that can be read even where its state lies. @default none */
  readonly programs?: readonly string[];
  /** What in read roots stays hidden: places for credentials. */
  readonly hidden: readonly HiddenPlace[];
  /** Protected places of the workspace as they are on disk; see `ensureProtectedPaths`. */
  readonly protectedPaths: ProtectedPaths;
  /** All that the command sees of an environment. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface HiddenPlace {
  /** It must exist. */
  readonly path: string;
  /** Or else a file. */
  readonly folder: boolean;
}

export interface ProtectedPaths {
  /** Files and folders that cannot be written. */
  readonly readOnly: readonly string[];
  /** The repository's folder, which cannot be moved away; undefined when `.git` is a file. */
  readonly repository: string | undefined;
}

/** File descriptors that the launcher opens for bwrap. Shells know only single digits. */
export const FD = { filter: 5, passwd: 6, group: 7, environment: 8, empty: 9 } as const;

/** Where a command finds its environment, in shell syntax. */
export const ENVIRONMENT_FILE = '/etc/sandbox-environment';

/** The user a command believes to be. */
export const USER = { name: 'assistant', id: '1000' } as const;

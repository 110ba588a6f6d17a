import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { sleep, type Clock } from '../../util/clock.ts';

/** Variable that names the root process to everything it starts. */
export const MARKER = 'ASSISTANT_COMMAND';

const POLL_MS = 15;
const KILL_ROUNDS = 40;

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks since boot; with the pid it names one process for good. */
  readonly started: number;
  readonly dead: boolean;
}

/**
 * A process that leads its own session, and all that came from it: by descent, group, session or the inherited marker,
 * so also what left the group or lost its parent. Without /proc (macOS) it is the process group only.
 */
export class ProcessTree {
  readonly #root: number;
  readonly #mark: string;
  readonly #started: number | undefined;
  readonly #known = new Map<number, number>();
  #spared: readonly number[] = [];
  #isUnclear = false;

  /**
   * Must be called in the turn of the event loop that spawned `root`. `mark`: what the marker holds where that is not the
   * root's id, or what it begins with (`isPrefix`); if no one else ever has it, a tree without a root is what an earlier process left of it, which without
   * /proc cannot be found. With neither it is an empty tree.
   */
  constructor(root: number | undefined, mark = String(root ?? ''), { isPrefix = false } = {}) {
    this.#root = root ?? 0;
    this.#mark = isPrefix || mark === '' ? mark : `${mark}\0`;
    this.#started = root === undefined ? 0 : readEntry(root)?.started;
  }

  /** Leaves processes of the tree alone; they do not count as alive. */
  spare(pids: readonly number[]): void {
    this.#spared = pids;
  }

  /**
   * At the last look there was an orphan whose environment could not be seen: while a process starts another program, it
   * has none for a moment, so it may belong to the tree although `alive` did not find it.
   */
  get isUnclear(): boolean {
    return this.#isUnclear;
  }

  /** What still runs, as targets for `process.kill`. */
  alive(): readonly number[] {
    if (this.#mark === '') return [];
    const since = this.#started;
    if (since === undefined) return exists(-this.#root) ? [-this.#root] : [];
    const entries = readEntries().filter(({ started }) => started >= since);
    const reused = entries.some(({ pid, started }) => pid === this.#root && started !== since);
    const members = new Set<number>();
    const unseen = new Set<number>();
    const belongs = ({ pid, parent, group, session, started }: ProcessEntry): boolean =>
      this.#known.get(pid) === started ||
      members.has(parent) ||
      (!reused && (this.#isLed(group, session) || isMarked(pid, this.#mark, unseen)));
    for (let before = -1; before !== members.size;) {
      before = members.size;
      for (const entry of entries) if (!members.has(entry.pid) && belongs(entry)) members.add(entry.pid);
    }
    this.#isUnclear = entries.some(
      ({ pid, parent, dead }) => unseen.has(pid) && !members.has(pid) && !dead && adoptsOrphans(parent),
    );
    const running = entries.filter(({ pid, dead }) => members.has(pid) && !dead && !this.#spared.includes(pid));
    this.#known.clear();
    for (const { pid, started } of running) this.#known.set(pid, started);
    return running.map(({ pid }) => pid);
  }

  /** Kernel threads are in the group 0. */
  #isLed(group: number, session: number): boolean {
    return this.#root !== 0 && (group === this.#root || session === this.#root);
  }

  signal(name: NodeJS.Signals): void {
    for (const pid of this.alive()) send(pid, name);
  }

  /** SIGTERM, after `graceMs` SIGKILL until nothing is left; false when something could not be ended. */
  async end(clock: Clock, graceMs: number): Promise<boolean> {
    this.signal('SIGTERM');
    if (await this.#gone(clock, graceMs)) return true;
    for (let round = 0; round < KILL_ROUNDS; round += 1) {
      this.signal('SIGKILL');
      if (await this.#gone(clock, POLL_MS)) return true;
    }
    return false;
  }

  async #gone(clock: Clock, withinMs: number): Promise<boolean> {
    const end = clock.monotonic() + withinMs;
    for (;;) {
      if (this.alive().length === 0) return true;
      if (clock.monotonic() >= end) return false;
      await sleep(clock, POLL_MS);
    }
  }
}

let commands = 0;

/** The marker of a command that the assistant waits for: no other has it while this process runs. */
export function commandMark(workspace: string): string {
  commands += 1;
  return `${marksIn(workspace)}${process.pid}.${commands}`;
}

/** Ends what commands of earlier processes of this workspace left running, see `ProcessTree.end`; without /proc nothing is found. */
export function endLeftCommands(
  workspace: string,
  { clock, graceMs }: { clock: Clock; graceMs: number },
): Promise<boolean> {
  return new ProcessTree(undefined, marksIn(workspace), { isPrefix: true }).end(clock, graceMs);
}

/** What the markers of all commands in a workspace begin with. */
function marksIn(workspace: string): string {
  return `command-${createHash('sha256').update(workspace).digest('hex').slice(0, 16)}.`;
}

/** Orphans go to a process that this one descends from, most often the first of all; in a container that may be this one. */
function adoptsOrphans(pid: number): boolean {
  let elder = process.ppid === 0 ? process.pid : process.ppid;
  while (elder !== pid && elder > 0) elder = readEntry(elder)?.parent ?? 0;
  return elder > 0;
}

/** Like `process.kill`; a process that is gone already is no error. */
export function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Ended meanwhile, or not ours any more.
  }
}

function exists(target: number): boolean {
  try {
    return process.kill(target, 0);
  } catch {
    return false;
  }
}

function readEntries(): readonly ProcessEntry[] {
  return processIds().flatMap((pid) => readEntry(pid) ?? []);
}

function processIds(): readonly number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/u.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/** The fields of `/proc/PID/stat`, proc_pid_stat(5); undefined when there is no such process or no /proc. */
function readEntry(pid: number): ProcessEntry | undefined {
  const text = readProc(pid, 'stat');
  if (text === undefined) return undefined;
  // The name before it is in brackets and may hold anything.
  const [state = '', ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [parent = 0, group = 0, session = 0] = rest.map(Number);
  return { pid, parent, group, session, started: Number(rest[18]), dead: state === 'Z' || state === 'X' };
}

/** Whether its environment has the marker; adds it to `unseen` if it has no environment. */
function isMarked(pid: number, mark: string, unseen: Set<number>): boolean {
  const environment = readProc(pid, 'environ');
  if (environment === '') unseen.add(pid);
  return `\0${environment ?? ''}`.includes(`\0${MARKER}=${mark}`);
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return undefined;
  }
}

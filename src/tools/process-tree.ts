import { readdirSync, readFileSync } from 'node:fs';
import { sleep, type Clock } from '../util/clock.ts';

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
  readonly #started: number | undefined;
  readonly #known = new Map<number, number>();
  #spared = 0;

  /** Must be called in the turn of the event loop that spawned `root`; undefined, when nothing was, is an empty tree. */
  constructor(root: number | undefined) {
    this.#root = root ?? 0;
    this.#started = root === undefined ? undefined : readEntry(root)?.started;
  }

  /** Leaves one process of the tree alone; it does not count as alive. */
  spare(pid: number): void {
    this.#spared = pid;
  }

  /** What still runs, as targets for `process.kill`. */
  alive(): readonly number[] {
    // Target 0 would be our own group.
    if (this.#root === 0) return [];
    const since = this.#started;
    if (since === undefined) return exists(-this.#root) ? [-this.#root] : [];
    const entries = readEntries().filter(({ started }) => started >= since);
    const reused = entries.some(({ pid, started }) => pid === this.#root && started !== since);
    const members = new Set<number>();
    const belongs = ({ pid, parent, group, session, started }: ProcessEntry): boolean =>
      this.#known.get(pid) === started ||
      members.has(parent) ||
      (!reused && (group === this.#root || session === this.#root || isMarked(pid, this.#root)));
    for (let before = -1; before !== members.size;) {
      before = members.size;
      for (const entry of entries) if (!members.has(entry.pid) && belongs(entry)) members.add(entry.pid);
    }
    const running = entries.filter(({ pid, dead }) => members.has(pid) && !dead && pid !== this.#spared);
    this.#known.clear();
    for (const { pid, started } of running) this.#known.set(pid, started);
    return running.map(({ pid }) => pid);
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
  return readdirSync('/proc').flatMap((name) => (/^\d+$/u.test(name) ? (readEntry(Number(name)) ?? []) : []));
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

function isMarked(pid: number, root: number): boolean {
  return `\0${readProc(pid, 'environ') ?? ''}`.includes(`\0${MARKER}=${root}\0`);
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return undefined;
  }
}

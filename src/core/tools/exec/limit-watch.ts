import { statfsSync } from 'node:fs';
import type { Clock } from '../../util/clock.ts';
import type { OutputEnds } from './output-ends.ts';
import type { ProcessTree } from './process-tree.ts';

/** What ends a command before its time is over. */
export interface CommandLimits {
  /** Processes at once. */
  readonly processes: number;
  /** Bytes that it may write to its output. */
  readonly outputBytes: number;
  /** Bytes that stay free on the disks of its folder and of `/tmp`; of a fuller disk half of what is left. */
  readonly freeBytes: number;
}

export const DEFAULT_COMMAND_LIMITS: CommandLimits = {
  processes: 512,
  outputBytes: 1024 ** 3,
  freeBytes: 512 * 1024 ** 2,
};

/** The limit that ended a command. */
export type Exceeded = keyof CommandLimits;

const POLL_MS = 250;

export interface LimitWatch extends Disposable {
  /** Aborts as soon as a limit is found to be exceeded. */
  readonly signal: AbortSignal;
  exceeded(): Exceeded | null;
}

interface WatchedCommand {
  readonly tree: ProcessTree;
  readonly output: OutputEnds;
  readonly cwd: string;
  readonly clock: Clock;
  /** @default 250 */
  readonly lookEveryMs?: number;
}

/** Looks at a running command again and again. */
export function watchLimits(
  limits: CommandLimits,
  { tree, output, cwd, clock, lookEveryMs = POLL_MS }: WatchedCommand,
): LimitWatch {
  const over = new AbortController();
  const disks = [cwd, '/tmp'].map((path) => {
    const free = freeOn(path);
    return { path, least: free > limits.freeBytes ? limits.freeBytes : free / 2 };
  });
  const find = (): Exceeded | null => {
    if (output.bytes > limits.outputBytes) return 'outputBytes';
    if (disks.some(({ path, least }) => freeOn(path) < least)) return 'freeBytes';
    return tree.alive().length > limits.processes ? 'processes' : null;
  };
  let exceeded: Exceeded | null = null;
  let timer: Disposable | undefined;
  const look = (): void => {
    exceeded = find();
    if (exceeded === null) timer = clock.timer(lookEveryMs, look);
    else over.abort(new Error(`a limit was exceeded: ${exceeded}`));
  };
  timer = clock.timer(lookEveryMs, look);
  return { signal: over.signal, exceeded: () => exceeded, [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
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

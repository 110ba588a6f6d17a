import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import type { Clock } from '../../util/clock.ts';

const LEAST_LOOK_MS = 4;
/** As fast as memory can be filled, and more. A process that could not be over its limit yet is left alone. */
const BYTES_PER_MS = 2 * 1024 ** 2;
const PAGE_SIZES = [4_096, 16_384, 65_536] as const;

/**
 * Calls `onOver` as soon as a process holds more memory (resident set) than `mostBytes()`. Looks the more often the
 * less is left, at most every 4 ms, and ends by itself with the process. Where there is no /proc it sees nothing.
 */
export function watchMemory(
  pid: number,
  {
    mostBytes,
    onOver,
    clock,
  }: { readonly mostBytes: () => number; readonly onOver: () => void; readonly clock: Clock },
): Disposable {
  const meter = openMeter(pid);
  if (meter === undefined) return { [Symbol.dispose]: () => {} };
  let timer: Disposable | undefined;
  const look = (): void => {
    const held = meter.heldBytes();
    if (held === undefined) return;
    const left = mostBytes() - held;
    if (left < 0) onOver();
    else timer = clock.timer(Math.max(LEAST_LOOK_MS, left / BYTES_PER_MS), look);
  };
  look();
  return {
    [Symbol.dispose]: () => {
      timer?.[Symbol.dispose]();
      meter[Symbol.dispose]();
    },
  };
}

interface Meter extends Disposable {
  /** 0 while it becomes another program; undefined: the process is gone. */
  heldBytes(): number | undefined;
}

/** Keeps `/proc/PID/statm` open, proc_pid_statm(5): a look costs some millionths of a second. */
function openMeter(pid: number): Meter | undefined {
  try {
    const descriptor = openSync(`/proc/${pid}/statm`, 'r');
    const text = Buffer.alloc(256);
    return {
      heldBytes: () => {
        try {
          return pagesOf(text.toString('latin1', 0, readSync(descriptor, text, 0, text.length, 0))) * pageSize();
        } catch {
          return undefined;
        }
      },
      [Symbol.dispose]: () => closeSync(descriptor),
    };
  } catch {
    return undefined;
  }
}

/** The second field: pages that are in memory. */
function pagesOf(statm: string): number {
  return Number(statm.split(' ')[1]);
}

let knownPageSize: number | undefined;

/** `/proc` does not say how large a page is; this process knows both, its pages and its bytes. */
function pageSize(): number {
  knownPageSize ??= PAGE_SIZES.findLast(
    (size) => size * pagesOf(readFileSync('/proc/self/statm', 'latin1')) <= process.memoryUsage.rss() * 1.5,
  );
  return knownPageSize ?? PAGE_SIZES[0];
}

import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import type { Clock } from '../../util/clock.ts';

const LEAST_LOOK_MS = 4;
/** As fast as memory can be filled, and more. A process that could not be over its limit yet is left alone. */
const BYTES_PER_MS = 2 * 1024 ** 2;
const PAGE_SIZES = [4_096, 16_384, 65_536] as const;

/**
 * Aborts as soon as a process holds more memory (resident set) than `mostBytes()`. Looks the more often the
 * less is left, at most every 4 ms, and ends by itself with the process. Where there is no /proc it sees nothing.
 */
export function watchMemory(
  pid: number,
  { mostBytes, clock }: { readonly mostBytes: () => number; readonly clock: Clock },
): { readonly signal: AbortSignal } & Disposable {
  const over = new AbortController();
  const meter = openMeter(pid);
  if (meter === undefined) return { signal: over.signal, [Symbol.dispose]: () => {} };
  let timer: Disposable | undefined;
  const look = (): void => {
    const held = meter.heldBytes();
    if (held === undefined) return;
    const left = mostBytes() - held;
    if (left < 0) over.abort(new Error('a child process holds too much memory'));
    else timer = clock.timer(Math.max(LEAST_LOOK_MS, left / BYTES_PER_MS), look);
  };
  look();
  return {
    signal: over.signal,
    [Symbol.dispose]: () => {
      timer?.[Symbol.dispose]();
      meter[Symbol.dispose]();
    },
  };
}

interface Meter extends Disposable {
  /** Undefined: the process is gone. */
  heldBytes(): number | undefined;
}

/** Keeps `/proc/PID/statm` open, proc_pid_statm(5): a look costs some millionths of a second. */
function openMeter(pid: number): Meter | undefined {
  try {
    const descriptor = openSync(`/proc/${pid}/statm`, 'r');
    const text = Buffer.alloc(256);
    const pages = (): number | undefined => {
      try {
        const size = readSync(descriptor, text, 0, text.length, 0);
        return Number(text.toString('latin1', 0, size).split(' ')[1]) || undefined;
      } catch {
        return undefined;
      }
    };
    const pageBytes = pageSize(pid, pages() ?? 1);
    return {
      heldBytes: () => {
        const held = pages();
        return held === undefined ? undefined : held * pageBytes;
      },
      [Symbol.dispose]: () => closeSync(descriptor),
    };
  } catch {
    return undefined;
  }
}

/** `/proc` counts in pages and does not say how large they are, except by saying the same in kB elsewhere. */
function pageSize(pid: number, pages: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const bytes = Number(/^VmRSS:\s+(?<kb>\d+) kB$/mu.exec(status)?.groups?.['kb'] ?? 0) * 1024;
  return PAGE_SIZES.findLast((size) => size <= (bytes / pages) * 1.5) ?? PAGE_SIZES[0];
}

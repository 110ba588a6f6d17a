import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * The longest time in milliseconds for which the event loop stood still while `work` ran. Of a busy machine only what
 * this thread itself worked counts, not what it waited for a processor.
 */
export async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let longest = 0;
  let before = worked();
  const timer = setInterval(() => {
    const now = worked();
    longest = Math.max(longest, now - before);
    before = now;
  }, 1);
  delay.enable();
  try {
    await work();
  } finally {
    delay.disable();
    clearInterval(timer);
  }
  return Math.min(delay.max / 1e6, Math.max(longest, worked() - before));
}

/** Milliseconds of processor time of this thread. */
function worked(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

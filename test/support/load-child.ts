import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { createAssistant } from '../../src/app.ts';

/**
 * The assistant in a process of its own that measures itself. Arguments: the home. Says `ready`; answers the message
 * `measure` with its figures since the last one, and ends with `stop`.
 */
// As src/launcher.cjs has it.
setFlagsFromString('--heap-growing-percent=50');
const [home = ''] = process.argv.slice(2);
const assistant = await createAssistant({ home, serve: 'gateway', port: 0 });
const delay = monitorEventLoopDelay({ resolution: 1 });
let highest = 0;
let heap = 0;
/** Processor time of this thread between two looks at it: how late the loop was by its own fault. */
let worked: number[] = [];
const timeWorked = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};
let before = timeWorked();
const looking = setInterval(() => {
  const now = timeWorked();
  worked.push(now - before);
  before = now;
}, 1);
const memory = setInterval(() => {
  const used = process.memoryUsage();
  highest = Math.max(highest, used.rss);
  heap = Math.max(heap, used.heapUsed);
}, 100);
delay.enable();

const round = (ms: number): number => Math.round(ms * 10) / 10;
const mb = (bytes: number): number => Math.round(bytes / 1024 ** 2);

process.on('message', (message) => {
  if (message === 'measure') {
    const sorted = Float64Array.from(worked).sort();
    process.send?.({
      p99Ms: round(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
      maxMs: round(sorted.at(-1) ?? 0),
      wallP99Ms: round(delay.percentile(99) / 1e6),
      wallMaxMs: round(delay.max / 1e6),
      rssMb: mb(highest),
      heapMb: mb(heap),
    });
    worked = [];
    highest = 0;
    heap = 0;
    delay.reset();
  } else {
    clearInterval(looking);
    clearInterval(memory);
    void assistant[Symbol.asyncDispose]().then(() => process.disconnect());
  }
});
process.send?.('ready');

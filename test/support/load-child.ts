import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createAssistant } from '../../src/app.ts';

/**
 * The assistant in a process of its own that measures itself. Arguments: the home. Says `ready`; answers the message
 * `measure` with its figures since the last one, and ends with `stop`.
 */
const [home = ''] = process.argv.slice(2);
const assistant = await createAssistant({ home, serve: 'gateway', port: 0 });
const delay = monitorEventLoopDelay({ resolution: 1 });
let highest = 0;
const memory = setInterval(() => {
  highest = Math.max(highest, process.memoryUsage.rss());
}, 50);
delay.enable();
process.on('message', (message) => {
  if (message === 'measure') {
    const ms = (nanoseconds: number): number => Math.round(nanoseconds / 1e4) / 100;
    process.send?.({
      p99Ms: ms(delay.percentile(99)),
      maxMs: ms(delay.max),
      rssMb: Math.round(highest / 1024 ** 2),
    });
    delay.reset();
  } else {
    clearInterval(memory);
    void assistant[Symbol.asyncDispose]().then(() => process.disconnect());
  }
});
process.send?.('ready');

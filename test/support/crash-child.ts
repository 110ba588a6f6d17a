import { flushCompileCache } from 'node:module';
import { createAssistant } from '../../src/app.ts';
import type { Hooks } from '../../src/core/agent/hooks/hooks.ts';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The real assistant in a process of its own, with hooks that linger at each stage of a turn, so that a kill at a
 * random instant falls into every step. Arguments: the home, the longest pause in milliseconds, and the name of the
 * machine's run if it is not the real one.
 */
const [home, pauseMs, boot] = process.argv.slice(2);
const linger = async (): Promise<undefined> => {
  await delay(Math.random() * Number(pauseMs ?? 0));
  return undefined;
};

const slow: Hooks = {
  admit: linger,
  loadState: async () => {
    await linger();
    return {};
  },
  beforeModel: linger,
  beforeTool: linger,
  afterTool: linger,
  render: linger,
  turnEnd: linger,
};

const assistant = await createAssistant({
  ...(home === undefined ? {} : { home }),
  serve: 'gateway',
  port: 0,
  hooks: [{ owner: 'slow', hooks: slow }],
  ...(boot === undefined ? {} : { boot }),
});
process.stdout.write('ready\n');
// Nothing is kept of it otherwise, because it will be killed.
flushCompileCache();
process.once('SIGTERM', () => {
  void assistant[Symbol.asyncDispose]().then(() => process.exit(0));
});

import type { Inside } from '../../src/gateway/http/options.ts';
import { silentLog } from '../../src/util/log.ts';
import { VirtualClock } from './virtual-clock.ts';

const unused = (): never => {
  throw new Error('this test has no assistant');
};

/** What programs reach, for tests of a server without an assistant: each call of it fails. */
export function noPrograms(): Pick<Inside, 'openai' | 'hooks' | 'metrics'> {
  const clock = new VirtualClock();
  return {
    metrics: unused,
    hooks: { hooks: unused, bus: { publishInbound: unused }, receivedAt: unused, newId: unused, clock, log: silentLog },
    openai: {
      bus: { publishInbound: unused, sessionOf: unused, listen: unused },
      find: unused,
      ended: unused,
      keepImage: unused,
      embedder: unused,
      newId: unused,
      clock,
      log: silentLog,
      closing: new AbortController().signal,
    },
  };
}

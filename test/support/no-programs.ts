import type { Inside } from '../../src/gateway/http/options.ts';
import { silentLog } from '../../src/util/log.ts';
import { VirtualClock } from './virtual-clock.ts';

const unused = (): never => {
  throw new Error('this test has no assistant');
};

/** What programs reach, for tests of a server without an assistant: each call of it fails. */
export function noPrograms(): Pick<Inside, 'openai'> {
  return {
    openai: {
      bus: { publishInbound: unused, sessionOf: unused, listen: unused },
      find: unused,
      ended: unused,
      keepImage: unused,
      embed: unused,
      newId: unused,
      clock: new VirtualClock(),
      log: silentLog,
      closing: new AbortController().signal,
    },
  };
}

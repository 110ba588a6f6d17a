import { connect, Socket } from 'node:net';
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
} from '../../src/core/security/fetch/fetch.ts';
import { systemClock } from '../../src/core/util/clock.ts';

export interface FetchWorld extends GuardedFetch {
  /** `address:port` of every connection that was begun. */
  readonly dialed: string[];
  /** The connections that were made to servers. */
  readonly sockets: Socket[];
  /** Every name that was asked for. */
  readonly resolved: string[];
}

/** A small internet: names answer what `names` says, and public addresses are servers on 127.0.0.1. */
export function fetchWorld(
  options: Partial<GuardedFetchOptions> & {
    /** Answers of the resolver, the n-th to the n-th question, the last one for good. */
    readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>;
    /** Where an address really is: a port on 127.0.0.1. Others refuse connections. */
    readonly servers?: Readonly<Record<string, number>>;
  } = {},
): FetchWorld {
  const dialed: string[] = [];
  const sockets: Socket[] = [];
  const resolved: string[] = [];
  const guarded = createGuardedFetch({
    allowHosts: [],
    denyHosts: [],
    clock: systemClock,
    ownNetworks: () => [],
    async resolve(name) {
      const answers = options.names?.[name] ?? [];
      const asked = resolved.filter((other) => other === name).length;
      resolved.push(name);
      const answer = answers[Math.min(asked, answers.length - 1)];
      if (answer === undefined) throw Object.assign(new Error(`no such name: ${name}`), { code: 'ENOTFOUND' });
      return answer;
    },
    dial({ addresses, port }) {
      const address = addresses.find((one) => options.servers?.[one] !== undefined);
      dialed.push(...(address === undefined ? addresses : [address]).map((one) => `${one}:${port}`));
      if (address === undefined) return refusing();
      const socket = connect({ host: '127.0.0.1', port: options.servers?.[address] ?? 1 });
      sockets.push(socket);
      return socket;
    },
    ...options,
  });
  return { ...guarded, dialed, sockets, resolved };
}

function refusing(): Socket {
  const socket = new Socket();
  setImmediate(() => socket.destroy(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })));
  return socket;
}

/** The facts of the error a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<{ code: string; kind: unknown; message: string }> {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || !('facts' in error)) throw error;
    const kind = typeof error.facts === 'object' && error.facts !== null && 'kind' in error.facts && error.facts.kind;
    return { code: String(error.code), kind, message: error.message };
  }
  throw new Error('it did not fail');
}

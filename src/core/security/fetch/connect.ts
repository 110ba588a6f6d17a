import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { deadline, DeadlineError, raceAbort, type Clock } from '../../util/clock.ts';
import { AppError, errorCode } from '../../util/errors.ts';
import { canonicalAddress } from './addresses.ts';
import { fetchFailed, fetchRefused } from './contract.ts';
import type { Target } from './target.ts';

/** Opens a TCP connection to exactly this address. */
export type Dial = (to: { readonly address: string; readonly port: number }) => Socket;

/** Limit for TCP and TLS together, over all addresses of a name. */
const CONNECT_MS = 10_000;
/** Addresses of a name that are tried. */
const MOST_ADDRESSES = 6;

/** Dials with Node's TCP sockets; never resolves a name. */
export const systemDial: Dial = ({ address, port }) =>
  connectTcp({
    host: address,
    port,
    autoSelectFamily: false,
    lookup: (_name, _options, callback) => callback(new Error('a checked address needs no look-up'), ''),
  });

/**
 * Connects to one of the target's checked addresses and to nothing else: no name is resolved here, and the address of
 * the peer is compared with the checked one before a byte is sent. TLS uses the host name of the URL (SNI and
 * certificate) and is always verified, even if the environment turns that off. Addresses are tried in turn, IPv4 first,
 * each with its share of 10 s. Throws `fetch-failed` (refused, timeout, tls), `fetch-refused`, or the signal's reason.
 */
export async function connectPinned(
  target: Target,
  { clock, dial, signal }: { clock: Clock; dial: Dial; signal: AbortSignal },
): Promise<Socket> {
  const v4First = (a: string, b: string): number => Number(a.includes(':')) - Number(b.includes(':'));
  const addresses = [...target.addresses].sort(v4First).slice(0, MOST_ADDRESSES);
  const end = clock.monotonic() + CONNECT_MS;
  let last: unknown;
  for (const [tried, address] of addresses.entries()) {
    const share = Math.max(1, (end - clock.monotonic()) / (addresses.length - tried));
    using limit = deadline(clock, share, 'connecting');
    const within = AbortSignal.any([signal, limit.signal]);
    try {
      const socket = await connectTo(address, target, { dial, signal: within });
      return target.url.protocol === 'https:' ? await secure(socket, target, within) : socket;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AppError) throw error;
      last = error;
    }
  }
  if (last instanceof DeadlineError) {
    throw fetchFailed('timeout', `${target.url.host} could not be connected to in ${CONNECT_MS / 1000} s.`);
  }
  const code = errorCode(last);
  const suffix = code === undefined ? '' : ` (${code})`;
  throw fetchFailed('refused', `${target.url.host} could not be connected to${suffix}.`, last);
}

async function connectTo(
  address: string,
  target: Target,
  { dial, signal }: { dial: Dial; signal: AbortSignal },
): Promise<Socket> {
  const socket = dial({ address, port: target.port });
  try {
    await until(socket, 'connect', signal);
    const peer = canonicalAddress(socket.remoteAddress ?? '');
    if (peer === undefined || peer !== canonicalAddress(address)) {
      throw fetchRefused(
        `Fetching from ${target.url.host} was refused: the connection leads to another address than the one that was checked.`,
      );
    }
    return socket.setNoDelay(true);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function secure(socket: Socket, { host, isAddress, url }: Target, signal: AbortSignal): Promise<Socket> {
  const { connect } = await import('node:tls');
  const secured = connect({
    socket,
    host,
    ...(isAddress ? {} : { servername: host }),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
  });
  try {
    await until(secured, 'secureConnect', signal);
    return secured;
  } catch (error) {
    secured.destroy();
    socket.destroy();
    if (signal.aborted) throw error;
    const code = errorCode(error);
    const suffix = code === undefined ? '' : ` (${code})`;
    throw fetchFailed('tls', `No trusted connection to ${url.host} could be made${suffix}.`, error);
  }
}

function until(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<unknown> {
  // Later errors reach the reader of the socket; without this listener they would end the process.
  socket.on('error', () => {});
  return raceAbort(once(socket, event), signal);
}

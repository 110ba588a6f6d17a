import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { AppError, errorCode } from '../../util/errors.ts';
import { fetchFailed } from './contract.ts';
import { checkTarget, type Target, type TargetRules } from './target.ts';
import type { PlainUrl } from './url-rules.ts';

/** Opens a TCP connection to one of these addresses, and to nothing else. */
export type Dial = (to: { readonly addresses: readonly string[]; readonly port: number }) => Socket;

/** What decides about connections, and what makes them. */
export interface Ports extends TargetRules {
  readonly clock: Clock;
  readonly dial: Dial;
}

/** Limit for the look-up of a name, TCP and TLS together, over all addresses of the name. */
const CONNECT_MS = 10_000;
/** After so long without a connection the next address of a name is tried. */
const ATTEMPT_MS = 2_500;

/** Dials with Node's TCP sockets, IPv4 first. The look-up gives back the checked addresses, so no name is resolved. */
export const systemDial: Dial = ({ addresses, port }) => {
  const checked = addresses
    .map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    .sort((a, b) => a.family - b.family);
  return connectTcp({
    host: 'checked.invalid',
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    lookup: (_name, _options, callback) => callback(null, checked),
  });
};

/**
 * Decides about a URL, resolves its name once, and connects to one of the checked addresses. TLS uses the host name of the URL (SNI
 * and certificate) and is always verified, even if the environment turns that off. Throws `fetch-refused`, `fetch-failed` (dns,
 * refused, timeout, tls), or the signal's reason.
 */
export async function openChecked(
  plain: PlainUrl,
  ports: Ports,
  signal?: AbortSignal,
): Promise<{ readonly target: Target; readonly socket: Socket }> {
  const { host } = plain.url;
  using limit = deadline(ports.clock, CONNECT_MS, 'connecting');
  const within = AbortSignal.any([limit.signal, ...(signal === undefined ? [] : [signal])]);
  let target: Target | undefined;
  let socket: Socket | undefined;
  try {
    target = await raceAbort(checkTarget(plain, ports), within);
    socket = ports.dial({ addresses: target.addresses, port: plain.port });
    await until(socket, 'connect', within);
    socket.setNoDelay(true);
    return { target, socket: plain.url.protocol === 'https:' ? await secured(socket, plain, within) : socket };
  } catch (error) {
    socket?.destroy();
    signal?.throwIfAborted();
    if (error instanceof AppError) throw error;
    const seconds = CONNECT_MS / 1000;
    if (!within.aborted) throw fetchFailed('refused', `${host} could not be connected to${codeOf(error)}.`, error);
    if (target === undefined)
      throw fetchFailed('dns', `The host ${plain.host} could not be looked up in ${seconds} s.`, error);
    throw fetchFailed('timeout', `${host} could not be connected to in ${seconds} s.`);
  }
}

async function secured(socket: Socket, { host, isAddress, url }: PlainUrl, signal: AbortSignal): Promise<Socket> {
  const { connect } = await import('node:tls');
  const name = isAddress ? {} : { servername: host };
  const tls = connect({ socket, host, ...name, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true });
  try {
    await until(tls, 'secureConnect', signal);
    return tls;
  } catch (error) {
    tls.destroy();
    if (signal.aborted) throw error;
    throw fetchFailed('tls', `No trusted connection to ${url.host} could be made${codeOf(error)}.`, error);
  }
}

function until(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<unknown> {
  // Later errors reach the reader of the socket; without this listener they would end the process.
  socket.on('error', () => {});
  return raceAbort(once(socket, event), signal);
}

function codeOf(error: unknown): string {
  const code = errorCode(error);
  return code === undefined ? '' : ` (${code})`;
}

import { once } from 'node:events';
import {
  request as ask,
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { raceAbort } from '../../util/clock.ts';
import { fetchRefused } from '../fetch/contract.ts';
import type { GuardedProxyOptions, ProxyLimits } from './contract.ts';

interface RelayOptions extends Pick<GuardedProxyOptions, 'maySend'> {
  readonly url: URL;
  /** Has the checked connection and no other. */
  readonly agent: Agent;
  /** Called with each piece; throws where it is too much. */
  readonly count: (bytes: number) => void;
  readonly limits: Pick<ProxyLimits, 'bodyBytes'>;
  readonly signal: AbortSignal;
}

/** Headers of one connection, and hints at other ways to a server; none of them is passed on. */
const OWN_HEADERS = new Set([
  'alt-svc',
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const ONLY_ASKS = new Set(['GET', 'HEAD']);
/** The announcement of a request to another site, which has no body. */
const PREFLIGHT = 'OPTIONS';

/**
 * Passes one request on over a connection that was checked, once it may be sent, and its answer back. The host is the one
 * of the connection, whatever the request says. Throws `fetch-refused`, or what broke the connection.
 */
export async function relay(request: IncomingMessage, response: ServerResponse, options: RelayOptions): Promise<void> {
  const { url, agent, count, signal } = options;
  const body = await bodyOf(request, options);
  await requireAllowed(request, body, options);
  const { 'content-length': _length, ...headers } = passedOn(request.headers);
  const outgoing = ask({
    agent,
    method: request.method,
    path: url.pathname + url.search,
    headers: {
      ...headers,
      host: url.host,
      ...(body.length > 0 || sends(request) ? { 'content-length': body.length } : {}),
    },
    maxHeaderSize: 64 * 1024,
  });
  response.once('close', () => outgoing.destroy());
  const answered = once(outgoing, 'response');
  answered.catch(() => {});
  outgoing.end(body);
  const [answer] = (await raceAbort(answered, signal)) as [IncomingMessage];
  response.writeHead(answer.statusCode ?? 502, passedOn(answer.headers));
  for await (const piece of answer) {
    if (!(piece instanceof Uint8Array)) continue;
    count(piece.length);
    if (!response.write(piece))
      await raceAbort(Promise.race([once(response, 'drain'), once(response, 'close')]), signal);
  }
  response.end();
}

async function requireAllowed(
  { method = '', headers }: IncomingMessage,
  body: Uint8Array,
  { url, maySend, signal }: RelayOptions,
): Promise<void> {
  const announced = method === PREFLIGHT ? headers['access-control-request-method'] : undefined;
  const sent = (announced ?? method).toUpperCase();
  if (ONLY_ASKS.has(sent)) return;
  const asked = { method: sent, url: url.href, origin: url.origin, headers, body };
  const why = await raceAbort(maySend(asked, signal), signal).catch(() => 'it could not be decided about.');
  if (why !== null) throw fetchRefused(`Sending ${sent} to ${url.host} was refused: ${why}`);
}

function sends({ method = '' }: IncomingMessage): boolean {
  return !ONLY_ASKS.has(method) && method !== PREFLIGHT;
}

/** All that a request sends. Throws for what only asks and yet sends something, and for too much. */
async function bodyOf(request: IncomingMessage, { limits, count, url }: RelayOptions): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    if (!(piece instanceof Uint8Array)) continue;
    if (!sends(request)) throw fetchRefused(`Sending to ${url.host} was refused: ${request.method} has no body.`);
    length += piece.length;
    if (length > limits.bodyBytes) throw fetchRefused(`Sending to ${url.host} was refused: it is too much.`);
    count(piece.length);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name) && !named.has(name)));
}

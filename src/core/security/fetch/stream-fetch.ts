import { deadline } from '../../util/clock.ts';
import type { GuardedFetchOptions } from './fetch.ts';
import { readHostList } from './host-list.ts';

/** A subset of the standard `fetch`, enough for clients of remote servers. */
export type StreamingFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface StreamingFetchOptions extends GuardedFetchOptions {
  /** Time limit for connecting and for the headers of the answer, ms. */
  readonly headersMs: number;
  /** Limit of the bytes of an answer; in an event stream, of one event. */
  readonly maxBytes: number;
}

/**
 * Creates the guarded fetch for streamed answers: it checks addresses as `fetchGuarded` does and connects only to the
 * checked one. Redirects are not followed: a 3xx is an answer like any other. Ignores proxies of the environment.
 * Throws as `fetchGuarded`; a body that breaks off or is too large fails while it is read.
 */
export function createStreamingFetch(options: StreamingFetchOptions): StreamingFetch {
  const allow = readHostList('allowHosts', options.allowHosts);
  const deny = readHostList('denyHosts', options.denyHosts);
  return async (url, init = {}) => {
    const [
      { checkUrlText },
      { connectPinned, systemDial },
      target,
      { exchange },
      { readRequest },
      { bodyStreamOf: streamOf },
    ] = await Promise.all([
      import('./guarded.ts'),
      import('./connect.ts'),
      import('./target.ts'),
      import('./exchange.ts'),
      import('./request.ts'),
      import('./body-stream.ts'),
    ]);
    const { clock, resolve = target.systemResolve, dial = systemDial, headersMs, maxBytes } = options;
    const { ownNetworks = target.systemNetworks } = options;
    const request = readRequest({
      method: init.method,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: typeof init.body === 'string' ? init.body : undefined,
    });
    using limit = deadline(clock, headersMs, 'the answer');
    const signal = AbortSignal.any([limit.signal, ...(init.signal ? [init.signal] : [])]);
    const checked = await checkUrlText(String(url), { allow, deny, clock, resolve, dial, ownNetworks }, signal);
    const socket = await connectPinned(checked, { clock, dial, signal });
    const answer = await exchange(socket, { target: checked, request, signal, acceptEncoding: 'identity' });
    return await streamOf(answer, { target: checked, maxBytes });
  };
}

import type { Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import type { Dial } from './connect.ts';
import type { FetchOptions, FetchResult } from './contract.ts';
import { readHostList } from './host-list.ts';
import type { Resolve } from './target.ts';

export type UrlDecision =
  | {
      readonly decision: 'allow';
      /** The URL after parsing. */
      readonly url: string;
      /** Whether its host is listed in `allowHosts`. */
      readonly opened: boolean;
    }
  | { readonly decision: 'deny'; /** One sentence. */ readonly reason: string };

export interface GuardedFetch {
  /**
   * Fetches an http(s) URL from an untrusted source. Connects only to public unicast addresses and to hosts of
   * `allowHosts`; follows at most 5 redirects, each checked again, none from https to http. Every status is a result.
   * Throws `fetch-refused` (nothing was sent to the refused target), `fetch-failed` (`facts.kind` says why), or the
   * signal's reason.
   */
  fetchGuarded(url: string, options?: FetchOptions): Promise<FetchResult>;
  /**
   * Decides by the text of a URL alone. Nothing leaves the machine, not even a DNS query, so this may be called before
   * a person has allowed the fetch; the addresses of the name are judged by the fetch. Never rejects.
   */
  checkUrl(url: string): Promise<UrlDecision>;
}

export interface GuardedFetchOptions {
  /** Hosts that may be fetched even if they are private: `example.com`, `*.example.com`, each also with `:port`. */
  readonly allowHosts: readonly string[];
  /** Hosts that are never fetched; wins over `allowHosts`. */
  readonly denyHosts: readonly string[];
  readonly clock: Clock;
  /** @default the system's resolver */
  readonly resolve?: Resolve;
  /** @default a TCP connection */
  readonly dial?: Dial;
  /** @default the networks of this machine's interfaces */
  readonly ownNetworks?: () => readonly string[];
}

/** A subset of the standard `fetch`, enough for clients of remote servers. */
export type StreamingFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Creates the fetch for URLs that a model or untrusted content chose. Ignores proxies of the environment. Its code is
 * loaded at its first use. Throws `config-invalid` for an invalid host list.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const load = loader(options);
  return {
    async fetchGuarded(url, fetchOptions = {}) {
      const { guarded, ports } = await load();
      return await guarded.fetchText(url, fetchOptions, ports);
    },
    async checkUrl(url) {
      const { guarded, ports } = await load();
      try {
        return { decision: 'allow', ...guarded.judgeUrlText(url, ports) };
      } catch (error) {
        // A guard that breaks denies.
        const reason = error instanceof AppError ? error.message : 'This URL could not be checked.';
        return { decision: 'deny', reason };
      }
    },
  };
}

/**
 * Creates the guarded fetch for streamed answers: it checks addresses as `fetchGuarded` does and connects only to checked
 * ones. Redirects are not followed: a 3xx is an answer like any other. Ignores proxies of the environment. Throws as
 * `fetchGuarded`; a body that breaks off or is too large fails while it is read.
 */
export function createStreamingFetch(
  options: GuardedFetchOptions & {
    /** Time limit for connecting and for the headers of the answer, ms. */
    readonly headersMs: number;
    /** Limit of the bytes of an answer; in an event stream, of one event. */
    readonly maxBytes: number;
  },
): StreamingFetch {
  const load = loader(options);
  return async (url, init = {}) => {
    const { guarded, ports } = await load();
    return await guarded.streamText(String(url), init, { ...ports, ...options });
  };
}

function loader(options: GuardedFetchOptions) {
  const allow = readHostList('allowHosts', options.allowHosts);
  const deny = readHostList('denyHosts', options.denyHosts);
  return async () => {
    const [{ fetchText, judgeUrlText, streamText }, { systemDial }, { systemNetworks, systemResolve }] =
      await Promise.all([import('./guarded.ts'), import('./connect.ts'), import('./target.ts')]);
    const { clock, resolve = systemResolve, dial = systemDial, ownNetworks = systemNetworks } = options;
    const guarded = { fetchText, judgeUrlText, streamText };
    return { guarded, ports: { allow, deny, clock, resolve, dial, ownNetworks } };
  };
}

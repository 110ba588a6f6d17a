import type { Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import type { Dial, Ports } from './connect.ts';
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
  const ports = loader(options);
  return {
    async fetchGuarded(url, fetchOptions = {}) {
      const { fetchText } = await import('./guarded.ts');
      return await fetchText(url, fetchOptions, await ports());
    },
    async checkUrl(url) {
      const { judgeUrlText } = await import('./guarded.ts');
      try {
        return { decision: 'allow', ...judgeUrlText(url, await ports()) };
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
  const ports = loader(options);
  return async (url, init = {}) => {
    const { streamText } = await import('./guarded.ts');
    return await streamText(String(url), init, { ...(await ports()), ...options });
  };
}

/** Reads the lists at once, so that a start finds what is wrong with them; what connects is loaded later. */
function loader({ allowHosts, denyHosts, ...given }: GuardedFetchOptions): () => Promise<Ports> {
  const lists = { allow: readHostList('allowHosts', allowHosts), deny: readHostList('denyHosts', denyHosts) };
  return async () => {
    const [{ systemDial: dial }, { systemResolve: resolve, systemNetworks: ownNetworks }] = await Promise.all([
      import('./connect.ts'),
      import('./target.ts'),
    ]);
    return { dial, resolve, ownNetworks, ...lists, ...given };
  };
}

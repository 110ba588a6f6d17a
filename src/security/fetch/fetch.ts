import type { Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import type { Dial } from './connect.ts';
import type { FetchOptions, FetchResult } from './contract.ts';
import { readHostList } from './host-list.ts';
import type { Resolve } from './target.ts';

export type UrlDecision =
  | {
      readonly decision: 'allow';
      /** As it was understood. */
      readonly url: string;
      /** Whether `allowHosts` names its host. */
      readonly opened: boolean;
    }
  | { readonly decision: 'deny'; /** One sentence. */ readonly reason: string };

export interface GuardedFetch {
  /**
   * Fetches an http(s) URL that anybody may have written. Only public unicast addresses and hosts of `allowHosts` are
   * connected to; at most 5 redirects are followed, each checked anew, none from https to http. Any status is a result.
   * Throws `fetch-refused` (nothing was sent to what it names), `fetch-failed` (`facts.kind` says how), or the
   * signal's reason.
   */
  fetchGuarded(url: string, options?: FetchOptions): Promise<FetchResult>;
  /**
   * What the text of a URL decides. Nothing leaves the machine, no look-up of its name either, so it may be asked before
   * anybody allowed the fetch; where the name leads is judged when it is fetched. Never rejects.
   */
  checkUrl(url: string): Promise<UrlDecision>;
}

export interface GuardedFetchOptions {
  /** Hosts that are opened on purpose, also private ones: `example.com`, `*.example.com`, each also with `:port`. */
  readonly allowHosts: readonly string[];
  /** Hosts that are never fetched; wins over `allowHosts`. */
  readonly denyHosts: readonly string[];
  readonly clock: Clock;
  /** @default the system's resolver */
  readonly resolve?: Resolve;
  /** @default TCP to exactly the address */
  readonly dial?: Dial;
  /** @default the networks of this machine's interfaces */
  readonly ownNetworks?: () => readonly string[];
}

/**
 * The only way to fetch an address that a model or a stranger chose. Reads no proxy from the environment. What it needs
 * is loaded at its first use. Throws `config-invalid` for a host list it cannot read.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const allow = readHostList('allowHosts', options.allowHosts);
  const deny = readHostList('denyHosts', options.denyHosts);
  const load = async () => {
    const [{ judgeUrlText, fetchText }, { systemDial }, { systemNetworks, systemResolve }] = await Promise.all([
      import('./guarded.ts'),
      import('./connect.ts'),
      import('./target.ts'),
    ]);
    const { clock, resolve = systemResolve, dial = systemDial, ownNetworks = systemNetworks } = options;
    return { judgeUrlText, fetchText, ports: { allow, deny, clock, resolve, dial, ownNetworks } };
  };
  return {
    async fetchGuarded(url, fetchOptions = {}) {
      const { fetchText, ports } = await load();
      return await fetchText(url, fetchOptions, ports);
    },
    async checkUrl(url) {
      const { judgeUrlText, ports } = await load();
      try {
        return { decision: 'allow', ...judgeUrlText(url, ports) };
      } catch (error) {
        // A guard that breaks denies.
        const reason = error instanceof AppError ? error.message : 'This URL could not be checked.';
        return { decision: 'deny', reason };
      }
    },
  };
}

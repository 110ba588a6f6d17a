import { AppError } from '../../util/errors.ts';
import { hasInternalSuffix } from './host-names.ts';

/** Host and port of a parsed URL. The host is lower-case ASCII, without a dot at the end or brackets around IPv6. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

interface Entry {
  readonly host: string;
  /** True: the entry means all subdomains of `host`, but not `host` itself. */
  readonly below: boolean;
  /** null: every port. */
  readonly port: number | null;
}

/** A parsed list of hosts. */
export interface HostList {
  has(target: HostPort): boolean;
}

/**
 * Reads the entries of `tools.web.allowHosts` or `denyHosts`: `example.com` (only this name), `*.example.com` (all its
 * subdomains, not the name itself) or an IP address, each optionally with `:port` (only this port); in `denyHosts` also
 * `*` for every host. `allowHosts` takes no `*` and no star before a top-level domain such as `*.com`, because that
 * would open the private network. Throws `config-invalid` for every other text.
 */
export function readHostList(key: 'allowHosts' | 'denyHosts', texts: readonly string[]): HostList {
  const entries = texts.map((text) => {
    const entry = readEntry(text.trim());
    if (entry === undefined || (key === 'allowHosts' && tooWide(entry))) {
      const example = '"example.com", "*.example.com" or "192.168.1.5:8080"';
      throw new AppError('config-invalid', `tools.web.${key}: expected hosts like ${example}, found "${text}".`, {
        exitCode: 78,
      });
    }
    return entry;
  });
  return {
    has: ({ host, port }) =>
      entries.some((entry) => {
        if (entry.port !== null && entry.port !== port) return false;
        if (!entry.below) return entry.host === host;
        return entry.host === '' || host.endsWith(`.${entry.host}`);
      }),
  };
}

function readEntry(text: string): Entry | undefined {
  if (text === '*') return { host: '', below: true, port: null };
  const below = text.startsWith('*.');
  const rest = below ? text.slice(2) : text;
  if (rest === '' || /[\s/\\?#@%*]/.test(rest)) return undefined;
  const bareV6 = rest.split(':').length > 2 && !rest.startsWith('[');
  const [, host, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(bareV6 ? `[${rest}]` : rest) ?? [];
  if (host === undefined || !URL.canParse(`http://${host}`)) return undefined;
  const { hostname, port: noPort } = new URL(`http://${host}`);
  const name = bareHost(hostname);
  if (name === '' || noPort !== '' || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) return undefined;
  if (below && /^[\d.]+$|:/.test(name)) return undefined;
  return { host: name, below, port: port === undefined ? null : Number(port) };
}

function tooWide({ host, below }: Entry): boolean {
  return below && !host.includes('.') && !hasInternalSuffix(host);
}

/** A URL's `hostname` without the brackets of IPv6 and without one dot at the end. */
export function bareHost(hostname: string): string {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

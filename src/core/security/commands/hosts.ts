import { posix } from 'node:path';
import { canonicalAddress, judgeAddress } from '../fetch/addresses.ts';
import type { HostPort } from '../fetch/host-list.ts';
import { judgeName } from '../fetch/host-names.ts';
import { asCode, DECODED, UNKNOWN } from './placeholders.ts';
import { noteRisk, type Scope } from './scope.ts';

/** A host that somebody named. */
export interface NamedHost {
  /** What stands between `//` and the path. */
  readonly authority: string;
  /**
   * - `url`: it was between `//` and a path; any name counts.
   * - `alias`: where short names are usually those of a person's own list (`ssh server`), so they pass.
   * - `word`: any argument, which may be something else: only what can hardly be anything but a host counts.
   */
  readonly naming: 'url' | 'alias' | 'word';
}

/** A plain number below this is never written for an address. */
export const FIRST_ADDRESS = 0x1000000;
/** Of one program; what names more is not judged further. */
const MOST_HOSTS = 1_000;

/** Keeps which hosts no one in the public network could be meant by. */
export function noteHosts(named: readonly NamedHost[], scope: Scope): void {
  for (const host of named.slice(0, MOST_HOSTS)) {
    const what = closedHost(host, scope.shared.place.opened);
    if (what !== undefined) noteRisk(scope, 'network', `it names ${what}`);
  }
}

/**
 * `10.0.0.1, which is a private address`. Undefined for public hosts, for those opened on purpose and for what is not
 * spelled out. Nothing is looked up: a public name may still lead anywhere.
 */
function closedHost({ authority, naming }: NamedHost, opened?: (target: HostPort) => boolean): string | undefined {
  const text = spelledOut(authority.slice(authority.lastIndexOf('@') + 1));
  if (text === undefined) return authority.includes(DECODED) ? 'an address that is hidden by an encoding' : undefined;
  const target = readHost(text);
  if (target === undefined) return undefined;
  const { host } = target;
  const isAddress = canonicalAddress(host) !== undefined;
  const verdict = isAddress ? judgeAddress(host) : judgeName(host);
  if (verdict.kind === 'public' || verdict.kind === 'invalid') return undefined;
  // Short names and plain numbers are too often something else.
  const isDoubtful = isAddress
    ? naming === 'word' && /^\d+$/u.test(text) && Number(text) < FIRST_ADDRESS
    : !host.includes('.') && host !== 'localhost';
  if (naming !== 'url' && isDoubtful) return undefined;
  if (verdict.kind !== 'metadata' && opened?.(target) === true) return undefined;
  return `${host}, which is ${verdict.what}`;
}

/** The host part of a URL, or of what a client takes for one (`http:10.0.0.1`); undefined when there is no scheme. */
export function authorityOf(text: string): string | undefined {
  return (
    /^(?:https?|ftps?|wss?):[/\\]*([^/?#\\]*)/iu.exec(text)?.[1] ??
    /^[a-z][a-z0-9+.-]*:\/\/+([^/?#\\]*)/iu.exec(text)?.[1]
  );
}

/** The host of bash's `/dev/tcp/HOST/PORT`. */
export function deviceHost(path: string): NamedHost[] {
  const authority = /^\/dev\/(?:tcp|udp)\/([^/]+)\//u.exec(posix.normalize(path))?.[1];
  return authority === undefined ? [] : [{ authority, naming: 'url' }];
}

/** Without marks; an address whose end is not known stands for one that begins so. */
function spelledOut(text: string): string | undefined {
  const plain = asCode(text);
  if (!plain.includes(UNKNOWN)) return plain;
  return /^(?:\d{1,3}\.){1,3}\uE000/u.test(plain) ? plain.replaceAll(UNKNOWN, '1') : undefined;
}

function readHost(text: string): HostPort | undefined {
  // IPv6 without brackets, perhaps with a zone.
  if (/^[0-9a-f]*:[0-9a-f:.]*:[0-9a-f.]*(?:%.*)?$/iu.test(text)) {
    const host = text.replace(/%.*$/u, '');
    return canonicalAddress(host) === undefined ? undefined : { host, port: 0 };
  }
  const written = text.replace(/%[^\]]*\]/u, ']');
  if (written === '' || !URL.canParse(`http://${written}`)) return undefined;
  const { hostname, port } = new URL(`http://${written}`);
  const host = hostname.replace(/^\[|\]$/gu, '').replace(/\.$/u, '');
  return host === '' ? undefined : { host, port: port === '' ? 80 : Number(port) };
}

import ipaddr from 'ipaddr.js';

/**
 * What an IP address is good for.
 *
 * - `public`: public unicast; anybody may be sent there.
 * - `private`: one machine, one network, or a special purpose; only a host opened by name may lead there.
 * - `metadata`: where clouds hand out credentials; never opened.
 * - `unusable`: not an address, or nothing a connection can lead to; never opened.
 */
export interface AddressVerdict {
  readonly kind: 'public' | 'private' | 'metadata' | 'unusable';
  /** What it is, to finish the sentence "… is …". */
  readonly what: string;
}

const PUBLIC: AddressVerdict = { kind: 'public', what: 'a public address' };
const NO_ADDRESS: AddressVerdict = { kind: 'unusable', what: 'no valid IP address' };
const METADATA: AddressVerdict = { kind: 'metadata', what: 'where a cloud hands out credentials' };

/** AWS (also ECS, EKS and DNS), Azure, Alibaba, Oracle, Tencent, Scaleway, Google, Linode, OpenStack. */
const METADATA_ADDRESSES = new Set(
  [
    '169.254.169.254',
    '169.254.169.253',
    '169.254.170.2',
    '169.254.170.23',
    '169.254.42.42',
    '169.254.0.23',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::253',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
    'fd00:a9fe:a9fe::1',
    'fe80::a9fe:a9fe',
  ].map((address) => ipaddr.parse(address).toString()),
);

const NAMES: Readonly<Record<string, string>> = {
  unspecified: 'the unspecified network',
  broadcast: 'the broadcast address',
  multicast: 'a multicast address',
  linkLocal: 'a link-local address',
  loopback: 'this machine itself',
  carrierGradeNat: 'a carrier-grade NAT address',
  private: 'a private address',
  uniqueLocal: 'a private address',
  deprecatedSiteLocal: 'a private address',
};
const NOT_CONNECTABLE = new Set(['unspecified', 'broadcast', 'multicast']);

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
const WELL_KNOWN_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const COMPATIBLE = ipaddr.IPv6.parseCIDR('::/96');
const MAPPED = ipaddr.IPv6.parseCIDR('::ffff:0:0/96');

/** Judges an address in its usual notation: dotted decimal of four parts, or IPv6 without brackets and zone. */
export function judgeAddress(text: string): AddressVerdict {
  const address = readAddress(text);
  if (address === undefined) return NO_ADDRESS;
  return address instanceof ipaddr.IPv4 ? judgeV4(address) : judgeV6(address);
}

/**
 * Judges an address that a resolver answered. Behind a NAT64 the resolver writes a public IPv4 address into
 * 64:ff9b::/96 (RFC 6147): it is judged as the one it stands for. In a URL nobody writes that, so there it is private.
 */
export function judgeAnswer(text: string): AddressVerdict {
  const address = readAddress(text);
  if (address instanceof ipaddr.IPv6 && address.match(WELL_KNOWN_NAT64)) {
    const [stands] = embeddedV4(address);
    if (stands !== undefined && judgeV4(stands).kind === 'public') return PUBLIC;
  }
  return judgeAddress(text);
}

/** The one spelling of an address, to compare by; undefined when it is none. */
export function canonicalAddress(text: string): string | undefined {
  return readAddress(text)?.toString();
}

/** Whether an address lies in a network written `address/prefix`; false when either cannot be read. */
export function inNetwork(text: string, network: string): boolean {
  const address = readAddress(text);
  if (address === undefined || !ipaddr.isValidCIDR(network)) return false;
  const [base, prefix] = ipaddr.parseCIDR(network);
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, prefix);
  return base instanceof ipaddr.IPv6 && address.match(base, prefix);
}

function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return undefined;
  return ipaddr.IPv6.parse(text);
}

function judgeV4(address: ipaddr.IPv4): AddressVerdict {
  if (METADATA_ADDRESSES.has(address.toString())) return METADATA;
  const range = address.range();
  return range === 'unicast' ? PUBLIC : special(range);
}

function judgeV6(address: ipaddr.IPv6): AddressVerdict {
  if (METADATA_ADDRESSES.has(address.toString())) return METADATA;
  const range = address.range();
  if (range !== 'unicast' && NAMES[range] !== undefined) return special(range);
  const inside = embeddedV4(address).map(judgeV4);
  if (inside.some(({ kind }) => kind === 'metadata')) return METADATA;
  const closed = inside.find(({ kind }) => kind !== 'public');
  if (closed !== undefined) {
    // Only where the system itself unwraps it can the inner address make the outer one unusable.
    const unwrapped = address.match(MAPPED) || address.match(COMPATIBLE);
    return { kind: unwrapped ? closed.kind : 'private', what: `IPv6 around what is ${closed.what}` };
  }
  // Nothing outside 2000::/3 is given to anybody, whatever a list of special ranges says.
  return range === 'unicast' && address.match(GLOBAL_UNICAST) ? PUBLIC : special(range);
}

function special(range: string): AddressVerdict {
  return {
    kind: NOT_CONNECTABLE.has(range) ? 'unusable' : 'private',
    what: NAMES[range] ?? 'an address for special purposes',
  };
}

/** Every IPv4 address that some way of carrying IPv4 in IPv6 could read from an address. */
function embeddedV4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const b = address.toByteArray();
  const at = (...indexes: number[]): ipaddr.IPv4 => new ipaddr.IPv4(indexes.map((i) => b[i] ?? 0));
  const last = at(12, 13, 14, 15);
  if (address.match(COMPATIBLE) || address.match(MAPPED) || address.match(WELL_KNOWN_NAT64)) return [last];
  switch (address.range()) {
    case 'rfc6145':
      return [last];
    case 'rfc6052': // RFC 8215: any of the layouts of RFC 6052 under a /48, which skip byte 8.
      return [last, at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12)];
    case '6to4':
      return [at(2, 3, 4, 5)];
    case 'teredo': // The server, and the client with its bits turned.
      return [at(4, 5, 6, 7), new ipaddr.IPv4(b.slice(12).map((byte) => byte ^ 0xff))];
    default:
      break;
  }
  // ISATAP (RFC 5214) lives under any prefix.
  const isatap = ((b[8] ?? 0) & 0xfd) === 0 && b[9] === 0 && b[10] === 0x5e && b[11] === 0xfe;
  return isatap ? [last] : [];
}

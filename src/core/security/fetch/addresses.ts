import ipaddr from 'ipaddr.js';

/**
 * What kind of IP address it is.
 *
 * - `public`: public unicast; may be connected to.
 * - `private`: of this machine, a private network or a special purpose; only for hosts listed in `allowHosts`.
 * - `metadata`: where clouds hand out credentials; never connected to.
 * - `unusable`: not an address, or one that cannot be connected to.
 */
export interface AddressVerdict {
  readonly kind: 'public' | 'private' | 'metadata' | 'unusable';
  /** Completes the sentence "the address is …". */
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

/** Judges an address in its usual notation: four decimal numbers, or IPv6 without brackets and zone. */
export function judgeAddress(text: string): AddressVerdict {
  const address = readAddress(text);
  if (address === undefined) return NO_ADDRESS;
  return address instanceof ipaddr.IPv4 ? judgeV4(address) : judgeV6(address);
}

/**
 * Judges an address that a resolver answered. In a NAT64 network resolvers put public IPv4 addresses into 64:ff9b::/96
 * (RFC 6147), so these are judged as the IPv4 address inside. Written in a URL, such an address counts as private.
 */
export function judgeAnswer(text: string): AddressVerdict {
  const address = readAddress(text);
  if (address instanceof ipaddr.IPv6 && address.match(WELL_KNOWN_NAT64)) {
    const [stands] = embeddedV4(address);
    if (stands !== undefined && judgeV4(stands).kind === 'public') return PUBLIC;
  }
  return judgeAddress(text);
}

/** The canonical spelling of an address, for comparing; undefined when it is not an address. */
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
    // The inner address can only make the outer one unusable where the system itself unwraps it.
    const unwrapped = address.match(MAPPED) || address.match(COMPATIBLE);
    return { kind: unwrapped ? closed.kind : 'private', what: `an IPv6 address that contains ${closed.what}` };
  }
  // No address outside 2000::/3 is assigned, even if it is in no list of special ranges.
  return range === 'unicast' && address.match(GLOBAL_UNICAST) ? PUBLIC : special(range);
}

function special(range: string): AddressVerdict {
  return {
    kind: NOT_CONNECTABLE.has(range) ? 'unusable' : 'private',
    what: NAMES[range] ?? 'an address for special purposes',
  };
}

/** Every IPv4 address that any scheme for IPv4 inside IPv6 would read from an address. */
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
    case 'teredo': // The server, and the client with its bits inverted.
      return [at(4, 5, 6, 7), new ipaddr.IPv4(b.slice(12).map((byte) => byte ^ 0xff))];
    default:
      break;
  }
  // ISATAP (RFC 5214) works under any prefix.
  const isatap = ((b[8] ?? 0) & 0xfd) === 0 && b[9] === 0 && b[10] === 0x5e && b[11] === 0xfe;
  return isatap ? [last] : [];
}

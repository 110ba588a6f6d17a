/** What kind of host name it is, by its text alone. */
export interface NameVerdict {
  readonly kind: 'public' | 'internal' | 'metadata' | 'invalid';
  /** Completes the sentence "the name is …". */
  readonly what: string;
}

/** Names under which clouds and clusters hand out credentials; subdomains are included. */
const METADATA_NAMES = [
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.com',
  'metadata.azure.internal',
  'metadata.oraclecloud.com',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'metadata.cloud.ibm.com',
  'metadata.internal',
  'metadata.local',
  'instance-data',
  'instance-data.ec2.internal',
  'rancher-metadata',
  'ec2metadata',
];

/** Suffixes that no public name has: reserved (RFC 6761, 6762, 8375, ICANN) or common in private networks. */
const INTERNAL_SUFFIXES = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'home.arpa',
  'arpa',
  'onion',
  'svc',
  'test',
  'invalid',
];

const NAME = /^[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*$/;

/** Judges a name in lower-case ASCII (punycode) without a dot at its end. */
export function judgeName(name: string): NameVerdict {
  if (name.length > 253 || !NAME.test(name) || name.split('.').some((label) => label.length > 63)) {
    return { kind: 'invalid', what: 'not a host name' };
  }
  if (METADATA_NAMES.some((metadata) => isUnder(name, metadata))) {
    return { kind: 'metadata', what: 'where a cloud hands out credentials' };
  }
  if (!name.includes('.')) return { kind: 'internal', what: 'a name of this machine or its network' };
  if (hasInternalSuffix(name)) return { kind: 'internal', what: 'a name inside a private network' };
  return { kind: 'public', what: 'a public name' };
}

/** Whether a name ends in a suffix that no public name has. */
export function hasInternalSuffix(name: string): boolean {
  return INTERNAL_SUFFIXES.some((suffix) => isUnder(name, suffix));
}

function isUnder(name: string, parent: string): boolean {
  return name === parent || name.endsWith(`.${parent}`);
}

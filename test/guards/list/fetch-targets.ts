import { guardsIn, type Guard } from '../guard.ts';

const URLS = 'security/fetch-urls.test.ts';
const ADDRESSES = 'security/fetch-addresses.test.ts';
const FETCH = 'security/fetch.test.ts';

/** Which addresses are fetched at all. */
export const FETCH_TARGET_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/fetch/addresses.ts',
    [URLS],
    [
      {
        name: 'address-v4-special',
        holds: 'Private, loopback, link-local, shared and reserved IPv4 addresses are not public ones.',
        find: "return range === 'unicast' ? PUBLIC : special(range);",
        replace: 'return PUBLIC;',
      },
      {
        name: 'address-v4-metadata',
        holds: 'The metadata addresses of clouds are not reached, even by a name that was opened on purpose.',
        find: 'function judgeV4(address: ipaddr.IPv4): AddressVerdict {\n  if (METADATA_ADDRESSES.has(address.toString())) return METADATA;',
        replace: 'function judgeV4(address: ipaddr.IPv4): AddressVerdict {',
      },
      {
        name: 'address-v6-metadata',
        holds: 'The IPv6 metadata addresses of clouds are not reached, even by a name that was opened on purpose.',
        find: 'function judgeV6(address: ipaddr.IPv6): AddressVerdict {\n  if (METADATA_ADDRESSES.has(address.toString())) return METADATA;',
        replace: 'function judgeV6(address: ipaddr.IPv6): AddressVerdict {',
      },
      {
        name: 'address-v6-special',
        holds: 'Loopback, link-local, unique local and multicast IPv6 addresses are not public ones.',
        find: "if (range !== 'unicast' && NAMES[range] !== undefined) return special(range);",
        replace: "if (range !== 'unicast' && NAMES[range] !== undefined) return PUBLIC;",
      },
      {
        name: 'address-embedded-private',
        holds: 'A private IPv4 address is not reached inside an IPv6 one (mapped, NAT64, 6to4, Teredo, ISATAP).',
        find: "const closed = inside.find(({ kind }) => kind !== 'public');",
        replace: 'const closed = inside.find(() => false);',
        tests: [ADDRESSES],
      },
      {
        name: 'address-embedded-metadata',
        holds: 'A metadata address inside an IPv6 one is not opened with the name that leads to it.',
        find: "if (inside.some(({ kind }) => kind === 'metadata')) return METADATA;",
        replace: '',
        tests: [ADDRESSES],
      },
      {
        name: 'address-isatap',
        holds: 'An ISATAP address under a public prefix is judged by the IPv4 address in it.',
        find: 'return isatap ? [last] : [];',
        replace: 'return isatap ? [] : [];',
        tests: [ADDRESSES],
      },
      {
        name: 'address-global-unicast',
        holds: 'IPv6 that was given to nobody is not taken for public, whatever a list of ranges leaves out.',
        find: "return range === 'unicast' && address.match(GLOBAL_UNICAST) ? PUBLIC : special(range);",
        replace: "return range === 'unicast' ? PUBLIC : special(range);",
        tests: [ADDRESSES],
      },
      {
        name: 'address-nat64-answer',
        holds: 'A resolver behind a NAT64 can not name a private IPv4 address as a public one.',
        find: "if (stands !== undefined && judgeV4(stands).kind === 'public') return PUBLIC;",
        replace: 'if (stands !== undefined) return PUBLIC;',
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/host-names.ts',
    [URLS],
    [
      {
        name: 'host-metadata-names',
        holds: 'The names under which clouds hand out credentials are not resolved, even when they are opened.',
        find: 'if (METADATA_NAMES.some((metadata) => isUnder(name, metadata))) {',
        replace: 'if (METADATA_NAMES.some(() => false)) {',
      },
      {
        name: 'host-internal-suffix',
        holds: 'Names that exist only inside a network (.local, .internal, .lan) are not resolved.',
        find: 'if (hasInternalSuffix(name)) return',
        replace: 'if (hasInternalSuffix(name) && false) return',
      },
      {
        name: 'host-single-label',
        holds: 'A name without a dot, which means a neighbour in the network, is not resolved.',
        find: "if (!name.includes('.')) return",
        replace: "if (!name.includes('.') && false) return",
      },
      {
        name: 'host-name-shape',
        holds: 'What is no host name is not handed to the resolver.',
        find: 'if (name.length > 253 || !NAME.test(name) ||',
        replace: 'if (name.length > 253 ||',
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/url-rules.ts',
    [URLS],
    [
      {
        name: 'url-scheme',
        holds: 'Nothing but http and https is fetched (file:, data:, gopher:, …).',
        find: "if (scheme !== 'http' && scheme !== 'https') throw",
        replace: "if (scheme === 'nothing') throw",
      },
      {
        name: 'url-white-space',
        holds: 'White space in an address, which parsers drop or split at, does not pass.',
        find: String.raw`if (/\p{Z}/u.test(text)) throw`,
        replace: String.raw`if (/\p{Z}/u.test(text) && false) throw`,
      },
      {
        name: 'url-control-characters',
        holds: 'Control characters in an address, which parsers drop, do not pass.',
        find: String.raw`if (/\p{Cc}/u.test(text)) throw refusal('it contains control characters');
  const scheme`,
        replace: 'const scheme',
      },
      {
        name: 'url-backslash',
        holds: 'A backslash, which some parsers take for a slash, does not hide the real host.',
        find: String.raw`if (beforeQuery.includes('\\')) throw`,
        replace: String.raw`if (beforeQuery.includes('\\') && false) throw`,
      },
      {
        name: 'url-userinfo',
        holds: 'A user name before the host does not pass for the host, and sends no password.',
        find: "if (authority.includes('@')) throw",
        replace: "if (authority.includes('@') && false) throw",
      },
      {
        name: 'url-percent-host',
        holds: 'A host in percent signs does not become another one when it is decoded.',
        find: "if (authority.includes('%')) throw",
        replace: "if (authority.includes('%') && false) throw",
      },
      {
        name: 'url-hidden-characters',
        holds: 'Characters that nobody sees do not make one host out of what looks like another.',
        find: String.raw`if (/\p{Cf}/u.test(authority)) throw`,
        replace: String.raw`if (/\p{Cf}/u.test(authority) && false) throw`,
      },
      {
        name: 'url-usual-spelling',
        holds: 'An address is not hidden in decimal, octal, hexadecimal, short or Unicode digits.',
        find: 'if (isAddress && !isUsualSpelling(written, host)) throw',
        replace: 'if (isAddress && host === written && false) throw',
        tests: [ADDRESSES],
      },
      {
        name: 'location-backslash',
        holds: 'A redirect does not lead to another host by a backslash.',
        find: String.raw`if (/^[^?#]*\\/.test(text)) throw`,
        replace: String.raw`if (/^[^?#]*\\/.test(text) && false) throw`,
        tests: [FETCH],
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/target.ts',
    [URLS],
    [
      {
        name: 'target-deny-hosts',
        holds: 'A host in tools.web.denyHosts is not fetched.',
        find: "if (rules.deny.has(plain)) throw refusal(plain, 'it is on the list of hosts that are never fetched');",
        replace: '',
      },
      {
        name: 'target-deny-address',
        holds: 'A host in denyHosts is not reached by another name that leads to its address.',
        find: 'if (rules.deny.has({ host: address, port: plain.port })) {',
        replace: 'if (rules.deny.has({ host: address, port: plain.port }) && false) {',
      },
      {
        name: 'target-foreign-ports',
        holds: 'Mail servers, shells and databases are not talked to through a URL.',
        find: 'if (!opened && isForeignPort(port)) throw',
        replace: 'if (!opened && isForeignPort(port) && false) throw',
      },
      {
        name: 'target-internal-names',
        holds: 'A name inside a private network is not looked up unless it is opened.',
        find: " || (name.kind === 'internal' && !opened)) {",
        replace: ') {',
      },
      {
        name: 'target-every-answer',
        holds: 'One private address among public answers to a name is not connected to.',
        find: 'for (const address of addresses) permit(',
        replace: 'for (const address of addresses.slice(0, 1)) permit(',
      },
      {
        name: 'target-never-opened',
        holds: 'A metadata or unusable address stays closed when its host is opened.',
        find: "const never = verdict.kind === 'unusable' || verdict.kind === 'metadata';",
        replace: "const never = (verdict.kind === 'unusable' || verdict.kind === 'metadata') && !opened;",
      },
      {
        name: 'target-private',
        holds: 'A private address is not connected to unless its host is opened.',
        find: "if (never || (verdict.kind === 'private' && !opened)) {",
        replace: 'if (never) {',
      },
      {
        name: 'target-own-networks',
        holds: 'Neighbours and this machine by a public address are not reached.',
        find: 'if (!opened && rules.ownNetworks().some(',
        replace: 'if (!opened && rules.ownNetworks().slice(0, 0).some(',
      },
      {
        name: 'target-most-answers',
        holds: 'A name with endless answers is not looked through.',
        find: 'if (addresses.length > MOST_ANSWERS) throw',
        replace: 'if (addresses.length > MOST_ANSWERS * 1000) throw',
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/host-list.ts',
    [URLS],
    [
      {
        name: 'host-list-too-wide',
        holds: 'A star in allowHosts does not open the private network to every name.',
        find: "if (entry === undefined || (key === 'allowHosts' && tooWide(entry))) {",
        replace: 'if (entry === undefined) {',
      },
      {
        name: 'host-list-port',
        holds: 'A host that is opened on one port is not opened on others.',
        find: 'if (entry.port !== null && entry.port !== port) return false;',
        replace: '',
      },
      {
        name: 'host-list-below',
        holds: 'A host that only ends like an opened one is not opened.',
        find: "return entry.host === '' || host.endsWith(`.${entry.host}`);",
        replace: "return entry.host === '' || host.endsWith(entry.host);",
      },
    ],
  ),
];

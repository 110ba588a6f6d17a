import { guardsIn, type Guard } from '../guard.ts';

const URLS = 'security/fetch-urls.test.ts';
const ADDRESSES = 'security/fetch-addresses.test.ts';

/** Which addresses are fetched at all. */
export const FETCH_TARGET_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/fetch/addresses.ts',
    [URLS],
    [
      {
        name: 'address-embedded-private',
        holds: 'A private IPv4 address is not reached inside an IPv6 one (mapped, NAT64, 6to4, Teredo, ISATAP).',
        find: "const closed = inside.find(({ kind }) => kind !== 'public');",
        replace: 'const closed = inside.find(() => false);',
        tests: [ADDRESSES],
      },
      {
        name: 'address-global-unicast',
        holds: 'IPv6 that was given to no one is not taken for public, whatever a list of ranges leaves out.',
        find: "return range === 'unicast' && address.match(GLOBAL_UNICAST) ? PUBLIC : special(range);",
        replace: "return range === 'unicast' ? PUBLIC : special(range);",
        tests: [ADDRESSES],
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/host-names.ts',
    [URLS],
    [
      {
        name: 'host-name-shape',
        holds: 'What is no host name is not handed to the resolver.',
        find: 'if (name.length > 253 || !NAME.test(name) ||',
        replace: 'if (name.length > 253 ||',
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/target.ts',
    [URLS],
    [
      {
        name: 'target-every-answer',
        holds: 'One private address among public answers to a name is not connected to.',
        find: 'for (const address of addresses) permit(',
        replace: 'for (const address of addresses.slice(0, 1)) permit(',
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/host-list.ts',
    [URLS],
    [
      {
        name: 'host-list-below',
        holds: 'A host that only ends like an opened one is not opened.',
        find: "return entry.host === '' || host.endsWith(`.${entry.host}`);",
        replace: "return entry.host === '' || host.endsWith(entry.host);",
      },
    ],
  ),
];

import { guardsIn, type Guard } from '../guard.ts';

const FETCH = 'tools/web-fetch.test.ts';
const TEXT = 'tools/web-page-text.test.ts';
const GUARDS = 'tools/web-guards.test.ts';

/** What the web tools reach, and what of a page is read. */
export const WEB_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'tools/web/fetch-action.ts',
    [FETCH],
    [
      {
        name: 'web-fetch-composed',
        holds: 'An address that the model put together is known as one.',
        find: "const composed = urlOrigin(address, texts) === 'composed';",
        replace: 'const composed = false;',
      },
      {
        name: 'web-fetch-unknown-given',
        holds: 'Where no addresses were given, every one counts as put together.',
        find: 'const texts = conversation.given();',
        replace: 'const texts = [...conversation.given(), address];',
        tests: [GUARDS],
      },
      {
        name: 'web-fetch-selected',
        holds: 'Which of many addresses that strangers gave is fetched spells nothing out.',
        find: 'const selected = isOneOfMany(address, texts, conversation.fetches());',
        replace: 'const selected = false;',
      },
      {
        name: 'web-fetch-opened',
        holds: 'Only a host that the configuration opens needs no yes.',
        find: "const hostAllowed = checked?.decision === 'allow' && checked.opened;",
        replace: "const hostAllowed = checked?.decision === 'allow';",
      },
    ],
  ),
  ...guardsIn(
    'tools/web/fetch-action.ts',
    ['tools/web-selection.test.ts'],
    [
      {
        name: 'selection-counts',
        holds: 'The fourth address of a site that strangers alone gave is asked about.',
        find: 'return asked.size >= FREE *',
        replace: 'return asked.size >= 1_000 *',
      },
    ],
  ),
  ...guardsIn(
    'agent/turn/earlier-fetches.ts',
    ['tools/web-selection.test.ts'],
    [
      {
        name: 'earlier-fetches-beside',
        holds: 'Calls that run side by side count for one another, in a batch too.',
        find: "? args['calls'] : [];",
        replace: '? [] : [];',
      },
    ],
  ),
  ...guardsIn(
    'app/tools/tools.ts',
    ['e2e/web-hosts.test.ts'],
    [
      {
        name: 'web-search-host-only',
        holds: 'The private host of a search is open to the search alone.',
        find: 'const fetch = createGuardedFetch({ ...web, clock });',
        replace:
          'const fetch = createGuardedFetch({ ...web, allowHosts: web.searchUrl === null ? web.allowHosts : [hostAndPort(web.searchUrl)], clock });',
      },
      {
        name: 'web-search-port-only',
        holds: 'Of the private host of a search no other port is open.',
        find: "return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;",
        replace: "return port === protocol ? '' : hostname;",
      },
    ],
  ),
  ...guardsIn(
    'tools/web/read-page.ts',
    [TEXT],
    [
      {
        name: 'page-invisible',
        holds: 'Characters that no one sees are left out of pages, titles and dates.',
        find: '=> withoutInvisible(text).text;',
        replace: '=> text;',
      },
    ],
  ),
];

import { guardsIn, type Guard } from '../guard.ts';

const FETCH = 'tools/web-fetch.test.ts';
const SEARCH = 'tools/web-search.test.ts';
const TEXT = 'tools/web-page-text.test.ts';
const GUARDS = 'tools/web-guards.test.ts';

/** What the web tools reach, and what of a page is read. */
export const WEB_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'tools/web/web-fetch.ts',
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
      {
        name: 'web-fetch-cached-errors',
        holds: 'An error of a server is not taken for its page later.',
        find: 'if (found.status >= 400) return failure(found);\n      cache.put',
        replace: 'cache.put(asked, found);\n      if (found.status >= 400) return failure(found);\n      cache.put',
      },
    ],
  ),
  ...guardsIn(
    'tools/web/web-fetch.ts',
    ['tools/web-selection.test.ts'],
    [
      {
        name: 'selection-counts',
        holds: 'The fourth address of a site that strangers alone gave is asked about.',
        find: 'return asked.size >= FREE *',
        replace: 'return asked.size >= 1_000 *',
      },
      {
        name: 'selection-sites',
        holds: 'Names below one another count as one site.',
        find: 'second.length <= SHORT ? -3 : -2',
        replace: 'second.length <= SHORT ? -9 : -9',
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
      {
        name: 'earlier-fetches-failures',
        holds: 'What failed counts each time, since it is asked for each time.',
        find: 'once: isShown ? url : id',
        replace: 'once: url',
      },
    ],
  ),
  ...guardsIn(
    'tools/web/web-search.ts',
    [SEARCH],
    [
      {
        name: 'web-search-key',
        holds: 'A key is not sent to a service that it may not be of.',
        find: "return key.startsWith('tvly-') ? 'tavily' : null;",
        replace: "return 'tavily';",
      },
      {
        name: 'web-search-web-only',
        holds: 'A result shows no address that runs something.',
        find: '/^https?:\\/\\//u.test(url) && url.length',
        replace: 'url.length',
      },
      {
        name: 'web-search-lines',
        holds: 'A title or snippet does not begin a result of its own.',
        find: 'const parts = [oneLine(name, LONGEST_TITLE), url, oneLine(snippet, LONGEST_SNIPPET)];',
        replace: 'const parts = [name, url, snippet];',
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
    'tools/web/html-markdown.ts',
    [TEXT],
    [
      {
        name: 'article-hidden',
        holds: 'What people do not see of an article is left out.',
        find: 'for (const element of hiding) element.remove();',
        replace: '',
      },
      {
        name: 'article-skipped',
        holds: 'Programs, comments of frames and controls of a page are not read.',
        find: 'for (const element of page.querySelectorAll(SKIPPED)) element.remove();',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'tools/web/html-plain.ts',
    [TEXT],
    [
      {
        name: 'plain-hidden',
        holds: 'Hidden parts and programs are not read where a page is too much for a parser.',
        find: 'if (hidden || SKIPPED.has(name)) {',
        replace: 'if (hidden && SKIPPED.has(name)) {',
      },
    ],
  ),
  ...guardsIn(
    'tools/web/links.ts',
    [TEXT],
    [
      {
        name: 'links-schemes',
        holds: 'Addresses that run or hold something (javascript:, data:) are left out of a page.',
        find: 'if (!SHOWN.has(url.protocol) || url.href.length > LONGEST) return undefined;',
        replace: 'if (url.href.length > LONGEST) return undefined;',
      },
      {
        name: 'links-base',
        holds: 'A page does not turn its addresses into others that are none of the web.',
        find: '/^https?:$/u.test(base.protocol) && base.href.length <= LONGEST ? base.href : page',
        replace: 'base.href',
      },
    ],
  ),
  ...guardsIn(
    'tools/web/read-page.ts',
    [TEXT],
    [
      {
        name: 'page-invisible',
        holds: 'Characters that nobody sees are left out of pages, titles and dates.',
        find: '=> withoutInvisible(text).text;',
        replace: '=> text;',
      },
      {
        name: 'page-heavy',
        holds: 'A page that would keep a parser busy is read without one.',
        find: 'const page = simple || isHeavy(html) ?',
        replace: 'const page = simple ?',
      },
      {
        name: 'page-bytes',
        holds: 'Of a page no more than 2 MB are read.',
        find: 'const cut = bytes.length > MOST_HTML_BYTES;',
        replace: 'const cut = bytes.length > MOST_HTML_BYTES * 1000;',
      },
    ],
  ),
  ...guardsIn(
    'tools/web/page-cache.ts',
    ['tools/web-cache.test.ts'],
    [
      {
        name: 'page-cache-bytes',
        holds: 'Pages that are kept do not fill the memory.',
        find: 'this.#pages.size <= MOST_PAGES && this.#bytes <= MOST_BYTES',
        replace: 'this.#pages.size <= MOST_PAGES',
      },
    ],
  ),
];

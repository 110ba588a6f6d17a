import { guardsIn, type Guard } from '../guard.ts';

const URLS = 'security/fetch-urls.test.ts';
const FETCH = 'security/fetch.test.ts';
const CAPS = 'security/fetch-caps.test.ts';

/** What is sent to a server, and how much of its answer is taken. */
export const FETCH_EXCHANGE_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/fetch.ts',
    [URLS],
    [
      {
        name: 'url-check-denies',
        holds: 'An address that is refused, or that could not be checked, is not called allowed.',
        find: "return { decision: 'deny', reason };",
        replace: "return { decision: 'allow', url, opened: false };",
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/connect.ts',
    [FETCH],
    [
      {
        name: 'connect-peer',
        holds: 'Nothing is sent to another address than the one that was checked.',
        find: 'if (peer === undefined || peer !== canonicalAddress(address)) {',
        replace: 'if (peer === undefined) {',
      },
      {
        name: 'connect-no-lookup',
        holds: 'The connection resolves nothing anew, so a name can not change its address after the check.',
        find: "lookup: (_name, _options, callback) => callback(new Error('a checked address needs no look-up'), ''),",
        replace: '',
      },
      {
        name: 'connect-certificate',
        holds: 'A server without a trusted certificate is not talked to, whatever the environment says.',
        find: 'rejectUnauthorized: true,',
        replace: 'rejectUnauthorized: false,',
      },
      {
        name: 'connect-deadline',
        holds: 'A connection that is never made does not hold a turn.',
        find: 'const CONNECT_MS = 10_000;',
        replace: 'const CONNECT_MS = 10_000_000;',
        tests: [CAPS],
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/guarded.ts',
    [FETCH],
    [
      {
        name: 'redirect-checked',
        holds: 'A redirect does not lead to a private address.',
        find: 'const target = await check(plain, ports, stop.signal);',
        replace:
          'const target = await check(plain, redirects === 0 ? ports : { ...ports, allow: { has: () => true } }, stop.signal);',
      },
      {
        name: 'redirect-downgrade',
        holds: 'A redirect does not lead from https to http.',
        find: "if (from.url.protocol === 'https:' && plain.url.protocol === 'http:') {",
        replace: "if (from.url.protocol === 'none:' && plain.url.protocol === 'http:') {",
      },
      {
        name: 'redirect-count',
        holds: 'Redirects come to an end.',
        find: 'if (redirects === MOST_REDIRECTS) throw',
        replace: 'if (redirects === MOST_REDIRECTS + 3) throw',
      },
      {
        name: 'redirect-circle',
        holds: 'Redirects in a circle end at the first repetition.',
        find: 'if (seen.has(`${request.method} ${plain.url.href}`)) throw',
        replace: 'if (seen.has(`never`)) throw',
      },
      {
        name: 'resolve-deadline',
        holds: 'A resolver that does not answer does not hold a turn.',
        find: 'const RESOLVE_MS = 10_000;',
        replace: 'const RESOLVE_MS = 10_000_000;',
        tests: [CAPS],
      },
      {
        name: 'first-byte-deadline',
        holds: 'A server that accepts and says nothing does not hold a turn.',
        find: 'const FIRST_BYTE_MS = 20_000;',
        replace: 'const FIRST_BYTE_MS = 20_000_000;',
        tests: [CAPS],
      },
      {
        name: 'slow-body',
        holds: 'A body that comes drop by drop does not hold a turn.',
        find: 'const enough = came >= SLOW.bytes;',
        replace: 'const enough = true;',
        tests: [CAPS],
      },
      {
        name: 'total-deadline',
        holds: 'Everything together ends at its deadline, however steadily it comes.',
        find: 'using _total = stop.after(timeoutMs, () =>',
        replace: 'using _total = stop.after(timeoutMs * 1000, () =>',
        tests: [CAPS],
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/body.ts',
    [CAPS],
    [
      {
        name: 'body-cap',
        holds: 'A gzip bomb is cut at the cap and never held in memory.',
        find: 'if (chunk.length > room) {',
        replace: 'if (chunk.length > room * 1e9) {',
      },
      {
        name: 'body-packed-cap',
        holds: 'Endless compressed data that unpacks to nothing ends the fetch.',
        find: 'if (packed > maxBytes + PACKED_SLACK && unpack !== undefined) {',
        replace: 'if (packed > 1e9 && unpack !== undefined) {',
        tests: ['security/fetch-packed.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/exchange.ts',
    [CAPS],
    [
      {
        name: 'header-bytes',
        holds: 'Headers without an end are not held in memory.',
        find: 'const MOST_HEADER_BYTES = 32_768;',
        replace: 'const MOST_HEADER_BYTES = 32_768_000;',
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/request.ts',
    [FETCH],
    [
      {
        name: 'request-connection-headers',
        holds: 'A caller can not change by a header which host is asked, or how the request is framed.',
        find: 'if (CONNECTION_HEADERS.test(name)) throw',
        replace: 'if (CONNECTION_HEADERS.test(name) && false) throw',
      },
      {
        name: 'request-header-characters',
        holds: 'A header value holds no line break that would begin another request.',
        find: String.raw`|| !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {`,
        replace: ') {',
      },
      {
        name: 'request-method',
        holds: 'A method that is none of the web (CONNECT, a line of text) is not sent.',
        find: 'if (!METHODS.has(method)) throw',
        replace: 'if (!METHODS.has(method) && false) throw',
      },
      {
        name: 'redirect-credentials',
        holds: 'Credentials in headers do not follow a redirect to another origin.',
        find: '(sameOrigin || FOLLOWING.has(name))',
        replace: '(sameOrigin || true)',
      },
      {
        name: 'redirect-body',
        holds: 'A body does not follow a redirect to another origin.',
        find: 'if (!becomesGet && !sameOrigin && request.body !== null) return undefined;',
        replace: '',
      },
    ],
  ),
];

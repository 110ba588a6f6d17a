import { guardsIn, type Guard } from '../guard.ts';

const FETCH = 'security/fetch.test.ts';

/** What is sent to a server, and how much of its answer is taken. */
export const FETCH_EXCHANGE_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/fetch/connect.ts',
    [FETCH],
    [
      {
        name: 'connect-no-lookup',
        holds: 'The connection resolves nothing anew, so a name cannot change its address after the check.',
        find: "lookup: (_name, _options, callback) => callback(new Error('a checked address needs no look-up'), ''),",
        replace: '',
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
    ],
  ),
  ...guardsIn(
    'security/fetch/request.ts',
    [FETCH],
    [
      {
        name: 'redirect-credentials',
        holds: 'Credentials in headers do not follow a redirect to another origin.',
        find: '(sameOrigin || FOLLOWING.has(name))',
        replace: '(sameOrigin || true)',
      },
    ],
  ),
];

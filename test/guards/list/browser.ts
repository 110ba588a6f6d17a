import { guardsIn, type Guard } from '../guard.ts';

const PROXY = 'security/proxy.test.ts';
const GATE = 'browser/send-gate.test.ts';

/** What a browser reaches, and what its pages send. */
export const BROWSER_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/proxy/relay.ts',
    [PROXY],
    [
      {
        name: 'proxy-sends-allowed',
        holds: 'Nothing but GET and HEAD leaves that was not allowed.',
        find: 'if (why !== null) throw',
        replace: 'if (why === undefined) throw',
      },
      {
        name: 'proxy-get-has-no-body',
        holds: 'What only asks sends nothing.',
        find: 'if (!sends(request)) throw',
        replace: 'if (request === undefined) throw',
      },
      {
        name: 'proxy-host',
        holds: 'A request goes to the host that was checked, whatever it says.',
        find: 'host: url.host,',
        replace: 'host: request.headers.host,',
      },
    ],
  ),
  ...guardsIn(
    'security/proxy/proxy.ts',
    [PROXY],
    [
      {
        name: 'proxy-web-sockets',
        holds: 'No WebSocket carries what no one saw.',
        find: "server.on('upgrade', (_request, socket) => this.#refuseUpgrade(socket));",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'tools/browser/send-gate.ts',
    [GATE],
    [
      {
        name: 'browser-sends-in-acting-calls',
        holds: 'A page that is only read sends nothing.',
        find: 'if (!call.asks)',
        replace: 'if (call.page === null)',
      },
      {
        name: 'browser-sends-to-own-site',
        holds: 'Trackers send nothing, and no one is asked about them.',
        find: 'if (!isOwn(request))',
        replace: 'if (request.body === null)',
      },
      {
        name: 'browser-no-holds',
        holds: 'What the owner refused is not sent.',
        find: "return answer ? null : 'the owner was asked and did not allow it.';",
        replace: 'return null;',
      },
    ],
  ),
  ...guardsIn(
    'security/access/taint.ts',
    ['security/taint.test.ts'],
    [
      {
        name: 'taint-page-input',
        holds: 'What is typed into a page in a private conversation with text from outside is asked about.',
        find: "return ask('what is typed or chosen on a page reaches its site and could carry private things out');",
        replace: 'return ALLOW;',
      },
    ],
  ),
];

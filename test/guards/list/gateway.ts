import { guardsIn, type Guard } from '../guard.ts';

const SERVER = 'gateway/http/server.test.ts';
const LOGIN = 'gateway/http/login.test.ts';
const SAFETY = 'gateway/http/safety.test.ts';
const CONTROL = 'gateway/control.test.ts';

/** Who reaches the assistant from outside of its channels. */
export const GATEWAY_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'gateway/http/app.ts',
    [SERVER],
    [
      {
        name: 'http-errors',
        holds: 'A request that fails is told nothing of what went wrong inside.',
        find: "failure(context, 500, 'internal', 'The request failed; the log says why.')",
        replace: "failure(context, 500, 'internal', String(error.stack))",
        tests: ['gateway/http/server-guards.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'gateway/http/safety.ts',
    [SAFETY],
    [
      {
        name: 'http-policy',
        holds: 'The page runs no code but its own, whatever text it shows.',
        find: "script-src 'self'; style-src 'self'; connect-src 'self'",
        replace: "script-src *; style-src 'self'; connect-src 'self'",
      },
      {
        name: 'http-sniffing',
        holds: 'A browser takes nothing for a program that was not sent as one.',
        find: "'X-Content-Type-Options': 'nosniff',",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'gateway/http/login.ts',
    [LOGIN],
    [
      {
        name: 'http-cookie-hidden',
        holds: 'No script and no other site gets the cookie of the page.',
        find: 'HttpOnly; SameSite=Strict',
        replace: 'Priority=High',
      },
      {
        name: 'http-code-once',
        holds: 'A login link logs in once.',
        find: 'this.#codes.delete(key);',
        replace: '',
      },
      {
        name: 'http-signed-by-token',
        holds: 'A cookie is worth nothing without the token that signed it.',
        find: "createHmac('sha256', this.#ports.token)",
        replace: "createHmac('sha256', 'assistant')",
      },
      {
        name: 'http-logged-out',
        holds: 'A cookie that was logged out counts no more.',
        find: "ended.has(hash(value).toString('hex'))",
        replace: 'false',
      },
    ],
  ),
  ...guardsIn(
    'gateway/token.ts',
    [SERVER],
    [
      {
        name: 'token-random',
        holds: 'No one can guess the token.',
        find: 'Buffer.from(options.random.bytes(32))',
        replace: 'Buffer.from(new Uint8Array(32))',
        tests: ['gateway/http/server-guards.test.ts'],
      },
      {
        name: 'token-loopback',
        holds: 'Only real loopback addresses do without a token.',
        find: '/^127(?:\\.\\d{1,3}){3}$/u.test(host)',
        replace: "host.startsWith('127')",
        tests: ['gateway/http/server-guards.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'storage/files.ts',
    ['storage/files.test.ts'],
    [
      {
        name: 'files-owner-only',
        holds: 'Files of the assistant are for its user alone.',
        find: '{ mode = 0o600, durability }',
        replace: '{ mode = 0o644, durability }',
      },
      {
        name: 'folders-owner-only',
        holds: 'Folders of the assistant are for its user alone.',
        find: 'mode: 0o700',
        replace: 'mode: 0o755',
      },
    ],
  ),
  ...guardsIn(
    'gateway/control-server.ts',
    [CONTROL],
    [
      {
        name: 'control-mode',
        holds: 'The socket of the assistant is for its user alone.',
        find: 'await chmod(path, 0o600);',
        replace: '',
      },
      {
        name: 'control-frames',
        holds: 'A program that speaks anything else than requests (a browser, say) is cut off.',
        find: "if (frame === undefined) {\n        this.#log.warn('control: closed a client that wrote no request');\n        this.#socket.destroy();\n        return;\n      }",
        replace: 'if (frame === undefined) continue;',
      },
      {
        name: 'control-abort',
        holds: 'What a program began ends when it goes away.',
        find: "socket.on('close', () => this.#abortAll(new ClientGone()));",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'gateway/operations/call.ts',
    [CONTROL],
    [
      {
        name: 'control-params',
        holds: 'A request is checked before anything of it is used.',
        find: 'assistant.request(known, OPERATIONS[known].params.parse(params), options)',
        replace: 'assistant.request(known, params as never, options)',
        tests: ['gateway/control-guards.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'gateway/local-assistant.ts',
    ['gateway/operations.test.ts'],
    [
      {
        name: 'operation-audit',
        holds: 'What an owner changes through an operation is written to the audit log.',
        find: 'if (what !== null) {',
        replace: 'if (false) {',
      },
    ],
  ),
];

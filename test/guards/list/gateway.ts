import { guardsIn, type Guard } from '../guard.ts';

const SERVER = 'gateway/server.test.ts';
const CONTROL = 'gateway/control.test.ts';

/** Who reaches the assistant from outside of its channels. */
export const GATEWAY_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'gateway/token.ts',
    [SERVER],
    [
      {
        name: 'token-random',
        holds: 'No one can guess the token.',
        find: 'Buffer.from(options.random.bytes(32))',
        replace: 'Buffer.from(new Uint8Array(32))',
        tests: ['gateway/server-guards.test.ts'],
      },
      {
        name: 'token-loopback',
        holds: 'Only real loopback addresses do without a token.',
        find: '/^127(?:\\.\\d{1,3}){3}$/u.test(host)',
        replace: "host.startsWith('127')",
        tests: ['gateway/server-guards.test.ts'],
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
        find: 'options.mode ?? 0o600',
        replace: 'options.mode ?? 0o644',
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
        find: "socket.on('close', () => this.#abortAll(new DOMException('the client went away', 'AbortError')));",
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

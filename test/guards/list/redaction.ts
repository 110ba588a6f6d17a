import { guardsIn, type Guard } from '../guard.ts';

const REDACT = 'security/redact.test.ts';
const TOKENS = 'security/redact-tokens.test.ts';

/** Secrets in texts. */
export const REDACTION_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/redact/redact.ts',
    [REDACT],
    [
      {
        name: 'redact-partial',
        holds: 'A secret does not get out piece by piece while a text still grows.',
        find: 'heldFrom(text, found, finder)',
        replace: 'text.length',
        tests: ['security/redact-growing.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/redact/find.ts',
    [REDACT],
    [
      {
        name: 'redact-known',
        holds:
          'A configured secret does not reach a transcript, a log or a chat, as it is or as addresses and JSON write it.',
        find: 'if (text.startsWith(entry, at)) known.push(',
        replace: 'if (text.length < 0) known.push(',
      },
      {
        name: 'redact-shell-syntax',
        holds: 'No command is hidden behind what looks like a secret.',
        find: 'piece.slice(space, cut === -1 ? piece.length : cut)',
        replace: 'piece.slice(space)',
        tests: ['security/redact-shell.test.ts'],
      },
      {
        name: 'redact-key-blocks',
        holds: 'Private keys do not reach a transcript, a log or a chat.',
        find: 'keyBlocks(text, partial)',
        replace: "keyBlocks('', partial)",
        tests: ['security/redact-growing.test.ts'],
      },
      {
        name: 'redact-named',
        holds:
          'A value behind the name of a secret (a password, a cookie) does not reach a transcript, a log or a chat.',
        find: ', ...named];',
        replace: '];',
        tests: [TOKENS],
      },
    ],
  ),
];

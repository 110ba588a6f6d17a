import { guardsIn, type Guard } from '../guard.ts';

const UNTRUSTED = 'security/untrusted.test.ts';
const TAINT = 'security/taint.test.ts';

/** Words of strangers, and what they may lead to. */
export const STRANGER_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/text/untrusted.ts',
    [UNTRUSTED],
    [
      {
        name: 'fence-invisible',
        holds: 'Nothing in a text of strangers is there for the model alone, unseen by people.',
        find: 'const inside = withoutLookAlikes(visible)',
        replace: 'const inside = withoutLookAlikes(text)',
      },
      {
        name: 'fence-secret-boundary',
        holds: 'The author of a text cannot compute the boundary that it will get.',
        find: 'JSON.stringify([secret, text])',
        replace: 'JSON.stringify([text])',
      },
    ],
  ),
  ...guardsIn(
    'security/text/invisible.ts',
    [UNTRUSTED],
    [
      {
        name: 'invisible-removed',
        holds: 'Characters that are not seen (zero width, tags, directions) are left out.',
        find: "removed += 1;\n      return '';",
        replace: 'removed += 1;\n      return match;',
      },
    ],
  ),
  ...guardsIn(
    'security/access/taint.ts',
    [TAINT],
    [
      {
        name: 'taint-lasting-write',
        holds: 'Strangers do not leave behind what later conversations read, without a yes.',
        find: 'return ask(LASTING[action.target]);',
        replace: 'return ALLOW;',
      },
      {
        name: 'taint-other-chat',
        holds: "Strangers have nothing sent to another chat in the owner's name without a yes.",
        find: "return ask('a message to another chat is sent in your name');",
        replace: 'return ALLOW;',
      },
      {
        name: 'taint-show-to-group',
        holds: "Strangers in a group do not read the owner's files without a yes.",
        find: "return ask('everybody in this group would read what it shows');",
        replace: 'return ALLOW;',
      },
      {
        name: 'taint-networked-exec',
        holds: 'Private things are not carried out by a command with the network.',
        find: "return ask('a command with access to the network could carry private things out');",
        replace: 'return ALLOW;',
      },
    ],
  ),
  ...guardsIn(
    'security/access/url-origin.ts',
    [TAINT],
    [
      {
        name: 'url-origin-before',
        holds: 'The end of a longer address does not count as one that was given.',
        find: 'const begins = at === 0 || BEFORE.test(text.charAt(at - 1));',
        replace: 'const begins = true;',
      },
      {
        name: 'url-origin-after',
        holds: 'An address to which something was added, or from which something was cut, does not count as given.',
        find: 'if (begins && AFTER.test(',
        replace: 'if (begins || AFTER.test(',
      },
    ],
  ),
  ...guardsIn(
    'security/text/control-characters.ts',
    ['tools/exec.test.ts'],
    [
      {
        name: 'visible-hidden',
        holds: 'Hidden characters in a command are seen by the person who is asked.',
        find: '(character) => `\\\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)',
        replace: '(character) => character)',
      },
    ],
  ),
];

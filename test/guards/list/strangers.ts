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
      {
        name: 'invisible-controls',
        holds: 'Control characters, which move cursors and end lines, are shown as pictures.',
        find: '.replace(CONTROLS, (control) => {',
        replace: '.replace(/(?!)/u, (control) => {',
      },
      {
        name: 'invisible-rightful',
        holds: 'A selector or joiner is left alone only where a script or an emoji needs it.',
        find: 'if (rightful !== undefined) return match;',
        replace: 'if (rightful !== undefined || match.length > 0) return match;',
      },
    ],
  ),
  ...guardsIn(
    'security/text/look-alikes.ts',
    [UNTRUSTED],
    [
      {
        name: 'look-alikes-tags',
        holds: 'Tags of this program, of tool calls and of reasoning are broken in words of strangers.',
        find: "{ pattern: new RegExp(`<(?=${tagged([...TAGS, ...TOKENS])})`, 'giu'), by: '‹' },",
        replace: '',
      },
      {
        name: 'look-alikes-roles-tags',
        holds: 'Tags that are named like a role are broken.',
        find: "{ pattern: new RegExp(`<(?=${tagged(LOWER_CASE_TAGS)})`, 'gu'), by: '‹' },",
        replace: '',
      },
      {
        name: 'look-alikes-bars',
        holds: 'Tokens of chat templates between bars (im_start) are broken.',
        find: String.raw`/<(?=\|[\w/▁])|<(?=\s*\|\s*[\w/▁]+\s*\|\s*>)|`,
        replace: '/',
      },
      {
        name: 'look-alikes-brackets',
        holds: 'Role markup in square brackets ([INST]) is broken.',
        find: String.raw`{ pattern: new RegExp(String.raw` + '`' + String.raw`\[(?=`,
        replace: String.raw`{ pattern: new RegExp(String.raw` + '`' + String.raw`(?!)\[(?=`,
      },
      {
        name: 'look-alikes-role-lines',
        holds: 'A line that begins like a turn of an old prompt format (Human:) is broken.',
        find: String.raw`(?<=^[ \t>#*_-]{0,12}(?:`,
        replace: String.raw`(?!)(?<=^[ \t>#*_-]{0,12}(?:`,
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
        holds: 'Hidden characters in a command are seen by whoever is asked.',
        find: '(character) => `\\\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)',
        replace: '(character) => character)',
      },
    ],
  ),
];

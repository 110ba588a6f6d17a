import { guardsIn, type Guard } from '../guard.ts';

const WALK = 'security/guarded-walk.test.ts';
const PATCH = 'tools/files/apply-patch.test.ts';
const FILE_TAINT = 'tools/file-taint.test.ts';

/** What searches over many files open and tell, what edits over many files change, and which images are shown. */
export const SEARCH_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/paths/guarded-walk.ts',
    [WALK],
    [
      {
        name: 'walk-hard-links-private',
        holds: "A search does not read the owner's private files for others under another name.",
        find: "if (caller.role !== 'owner') for (",
        replace: "if (caller.role === 'owner') for (",
      },
    ],
  ),
  ...guardsIn(
    'tools/files/search/grep-files.ts',
    [FILE_TAINT],
    [
      {
        name: 'grep-taint',
        holds: 'What a search shows of a file of strangers counts as theirs, wherever it was moved to.',
        find: 'hash: hash(), isQuoted: true',
        replace: "hash: '', isQuoted: true",
      },
    ],
  ),
  ...guardsIn(
    'tools/files/taint.ts',
    [FILE_TAINT],
    [
      {
        name: 'file-taint-quoted',
        holds: 'What a search quotes of a file of strangers counts as theirs.',
        find: '(await anyOf(shown, (file) => holdsStrangers(origins, file)))',
        replace: 'shown.length < 0',
      },
    ],
  ),
  ...guardsIn(
    'tools/files/apply-patch.ts',
    [PATCH],
    [
      {
        name: 'patch-one-yes',
        holds: 'A yes to one file of a patch opens no other that needs one.',
        find: 'if (asked.size > 1) {',
        replace: 'if (asked.size > 100) {',
      },
      {
        name: 'patch-binds',
        holds: 'A yes to a patch is for what the files held when it was asked.',
        find: 'async (path) => [path, await filePeek.look(path)]',
        replace: 'async (path) => [path]',
      },
    ],
  ),
  ...guardsIn(
    'tools/files/read-file.ts',
    ['tools/read-documents.test.ts'],
    [
      {
        name: 'read-image-copy',
        holds: 'The image that the model is shown is the one that was judged, whatever lies there later.',
        find: 'const kept = await keepImage(bytes);',
        replace: 'const kept = file.path;',
      },
    ],
  ),
  ...guardsIn(
    'agent/turn/tool-calls.ts',
    ['agent/tool-calls.test.ts'],
    [
      {
        name: 'result-images-denied',
        holds: 'An image in a result that a plugin refuses is not shown.',
        find: '{ ...unshown, output: after.denied',
        replace: '{ ...result, output: after.denied',
      },
    ],
  ),
];

import { guardsIn, type Guard } from '../guard.ts';

const FILE_TAINT = 'tools/file-taint.test.ts';
const MEMORY_WRITE = 'tools/memory-write.test.ts';

/** What tools do with files, the memory and the tape. */
export const FILE_TOOL_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'tools/file-access.ts',
    ['tools/write-file.test.ts'],
    [
      {
        name: 'file-approved-path',
        holds: 'A yes to one file opens no other.',
        find: 'approved: (path: string) => path === approved',
        replace: 'approved: () => true',
        tests: ['tools/file-walls.test.ts'],
      },
      {
        name: 'file-decision-deny',
        holds: 'What the path guard refuses is refused before it is opened.',
        find: "case 'deny':\n      return decision;",
        replace: "case 'deny':\n      return { decision: 'allow' };",
        tests: ['tools/file-walls.test.ts'],
      },
      {
        name: 'file-largest',
        holds: 'A file without end is not held in memory.',
        find: 'if (size > MOST_BYTES) {',
        replace: 'if (size > MOST_BYTES * 1e6) {',
        tests: ['tools/read-file.test.ts'],
      },
      {
        name: 'file-kept-first',
        holds: 'Nothing is replaced before what was there is kept.',
        find: 'await changes.recordChange({',
        replace: 'void ({',
        tests: ['tools/file-walls.test.ts'],
      },
      {
        name: 'file-mark-strangers',
        holds: 'What is written while strangers have a say counts as theirs later too.',
        find: 'context.taint.untrusted || (read',
        replace: '(read',
        tests: [FILE_TAINT],
      },
      {
        name: 'file-mark-edited',
        holds: 'An edit does not make a file of strangers the own.',
        find: '(read !== undefined && (await origins?.holds(read)) === true)',
        replace: 'false',
        tests: [FILE_TAINT],
      },
      {
        name: 'file-unchanged',
        holds: 'A file that changed after it was read is not overwritten by an edit.',
        find: 'unchangedSince: before?.stat ?? null });',
        replace: '});',
        tests: ['tools/edit-file.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'tools/file-taint.ts',
    [FILE_TAINT],
    [
      {
        name: 'file-taint-private',
        holds: "What is read of a file counts as the owner's.",
        find: 'const OWNERS: ResultBits = { private: true };',
        replace: 'const OWNERS: ResultBits = {};',
      },
      {
        name: 'file-taint-strangers',
        holds: 'What is read of a file of strangers counts as theirs.',
        find: 'return (await origins?.holds(file)) === true ? { ...OWNERS, untrusted: true } : OWNERS;',
        replace: 'return OWNERS;',
      },
      {
        name: 'file-taint-names',
        holds: 'Names that strangers chose count as their words.',
        find: 'return isUntrusted ? { ...OWNERS, untrusted: true } : OWNERS;',
        replace: 'return OWNERS;',
      },
    ],
  ),
  ...guardsIn(
    'tools/list-dir.ts',
    ['tools/list-dir.test.ts'],
    [
      {
        name: 'list-dir-names',
        holds: 'A file name does not look like markup or like another line.',
        find: "const name = harmless(named).replaceAll('\\n', '␊');",
        replace: 'const name = named;',
        tests: ['tools/file-walls.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'tools/memory-write.ts',
    [MEMORY_WRITE],
    [
      {
        name: 'memory-write-role',
        holds: 'The memory is changed for the owner alone.',
        find: "const isOwn = role === 'owner' &&",
        replace: 'const isOwn =',
        tests: ['tools/file-walls.test.ts'],
      },
      {
        name: 'memory-write-origin',
        holds: 'Nothing that started itself, and no webhook, changes the memory.',
        find: "(origin === 'user' || origin === 'api');",
        replace: 'true;',
      },
      {
        name: 'memory-write-direct',
        holds: 'The memory is changed in direct chats alone.',
        find: "if (!isOwn || chatType !== 'direct') {",
        replace: 'if (!isOwn) {',
      },
      {
        name: 'memory-write-taint',
        holds: 'Strangers put nothing into the memory without a yes.',
        find: "action: { kind: 'lasting-write', target: 'memory' },",
        replace: "action: { kind: 'other' },",
      },
      {
        name: 'memory-write-shown',
        holds: 'Whoever is asked sees all of the change.',
        find: "blank(fact) ? 'Remove a line' : `Write: ${fact}`,",
        replace: "'Write a fact',",
      },
    ],
  ),
  ...guardsIn(
    'tools/memory-search.ts',
    ['tools/memory-search.test.ts'],
    [
      {
        name: 'memory-search-scope',
        holds: 'Others than the owner, and groups, find nothing outside their own conversation.',
        find: "return seesPrivate(context) ? 'all' : [context.sessionKey];",
        replace: "return 'all';",
      },
      {
        name: 'memory-search-untrusted',
        holds: 'What strangers said is marked when it is found again.',
        find: '...(found.some(({ untrusted }) => untrusted) ? { untrusted: true } : {}),',
        replace: '',
      },
      {
        name: 'memory-search-private',
        holds: 'What is found again counts as private.',
        find: 'private: true,\n        ...(found',
        replace: '...(found',
      },
    ],
  ),
  ...guardsIn(
    'tools/skill.ts',
    ['tools/skill.test.ts'],
    [
      {
        name: 'skill-people-only',
        holds: 'A skill that only people may call is not loaded by the model.',
        find: 'if (loaded.skill.disableModelInvocation) {',
        replace: "if (loaded.skill.disableModelInvocation && wanted === '') {",
      },
      {
        name: 'skill-tool-foreign',
        holds: 'A text of a skill that others may have written counts as theirs when the model loads it.',
        find: '...(loaded.skill.foreign ? { untrusted: true } : {}),',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'tools/tape.ts',
    ['agent/tape-actions.test.ts'],
    [
      {
        name: 'tape-guests',
        holds: 'Guests do not change what a conversation remembers.',
        find: "role === 'guest' && CHANGES.has(action)",
        replace: "role === 'guest' && action === 'nothing'",
        tests: ['tools/tape.test.ts'],
      },
    ],
  ),
];

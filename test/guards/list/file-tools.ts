import { guardsIn, type Guard } from '../guard.ts';

const FILE_TAINT = 'tools/file-taint.test.ts';
const MEMORY_WRITE = 'tools/memory-write.test.ts';

/** What tools do with files, the memory and the tape. */
export const FILE_TOOL_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'tools/files/access.ts',
    ['tools/write-file.test.ts'],
    [
      {
        name: 'file-approved-path',
        holds: 'A yes to one file opens no other.',
        find: 'approved: (path: string) => path === approval.covers',
        replace: 'approved: () => true',
        tests: ['tools/file-guards.test.ts'],
      },
      {
        name: 'file-decision-deny',
        holds: 'What the path guard refuses is refused before it is opened.',
        find: "case 'deny':\n      return decision;",
        replace: "case 'deny':\n      return { decision: 'allow' };",
        tests: ['tools/file-guards.test.ts'],
      },
      {
        name: 'file-kept-first',
        holds: 'Nothing is replaced before what was there is kept.',
        find: 'await changes.recordChange({',
        replace: 'void ({',
        tests: ['tools/file-guards.test.ts'],
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
    'tools/memory-write.ts',
    [MEMORY_WRITE],
    [
      {
        name: 'memory-write-taint',
        holds: 'Strangers put nothing into the memory without a yes.',
        find: "action: { kind: 'lasting-write', target: 'memory' },",
        replace: "action: { kind: 'other' },",
      },
      {
        name: 'memory-write-shown',
        holds: 'The person who is asked sees all of the change.',
        find: "blank(fact) ? 'Remove a line' : `Write: ${fact}`,",
        replace: "'Write a fact',",
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
    ],
  ),
];

import { guardsIn, type Guard } from '../guard.ts';

const EDITOR_FILES = 'tools/editor-files.test.ts';
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
    ],
  ),
  ...guardsIn(
    'tools/files/whole-file.ts',
    ['tools/write-file.test.ts'],
    [
      {
        name: 'file-kept-first',
        holds: 'Nothing is replaced before what was there is kept.',
        find: 'await changes.recordChange({\n    ...change,\n    folders,',
        replace: 'void ({\n    ...change,\n    folders,',
        tests: ['tools/file-guards.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'tools/files/editor-buffer.ts',
    [EDITOR_FILES],
    [
      {
        name: 'file-unchanged',
        holds: 'A file that changed after it was read is not overwritten by an edit.',
        find: 'unchangedSince: before?.stat ?? null });',
        replace: '});',
        tests: ['tools/edit-file.test.ts'],
      },
      {
        name: 'editor-file-free',
        holds: 'The editor is not asked about a file that needs a yes.',
        find: "return decision === 'allow' ? join",
        replace: 'return true ? join',
      },
      {
        name: 'editor-file-unchanged',
        holds: 'What a person typed after it was read is not overwritten.',
        find: 'before?.bytes?.equals(shown.bytes) === true',
        replace: 'true',
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

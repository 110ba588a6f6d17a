import { guardsIn, type Guard } from '../guard.ts';

const PROCESS = 'tools/documents/document-process.test.ts';

/** What a document may do to whoever reads it. */
export const DOCUMENT_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'tools/documents/limited-process.ts',
    [PROCESS],
    [
      {
        name: 'document-environment',
        holds: 'The process that reads documents has no environment of the assistant.',
        find: 'env: {},\n      extendEnv: false,',
        replace: '',
      },
      {
        name: 'document-permission',
        holds: 'A document that takes over its reader cannot read another file, write one or start a process.',
        find: "'--v8-pool-size=1', '--permission'",
        replace: "'--v8-pool-size=1'",
      },
      {
        name: 'document-data-limit',
        holds: 'The kernel gives a reader of documents no more memory than it may have.',
        find: 'ulimit -d "$1" 2>/dev/null',
        replace: ':',
      },
    ],
  ),
];

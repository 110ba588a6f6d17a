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
      {
        name: 'document-cpu-limit',
        holds: 'A reader of documents ends even when the assistant is gone.',
        find: 'ulimit -t "$2"; ',
        replace: '',
      },
      {
        name: 'document-group',
        holds: 'A reader of documents is ended with its process group.',
        find: 'killDescendants: true,',
        replace: '',
      },
      {
        name: 'document-output',
        holds: 'What a reader of documents says does not fill the memory.',
        find: 'maxBuffer: { stdout: options.outputBytes, stderr: ERROR_BYTES },',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'tools/documents/memory-watchdog.ts',
    [PROCESS],
    [
      {
        name: 'document-watchdog',
        holds: 'A document that takes more memory than it may is given up.',
        find: 'if (left < 0)',
        replace: 'if (left < Number.NEGATIVE_INFINITY)',
      },
    ],
  ),
  ...guardsIn(
    'tools/documents/document-reader.ts',
    [PROCESS],
    [
      {
        name: 'document-guests',
        holds: 'A document of a guest takes no more than 150 MB.',
        find: 'const MOST_GUEST_BYTES = 150 * MB;',
        replace: 'const MOST_GUEST_BYTES = 300 * MB;',
      },
      {
        name: 'document-one',
        holds: 'Two documents at once do not take twice the memory.',
        find: 'const all = new Slots(1);',
        replace: 'const all = new Slots(2);',
      },
      {
        name: 'document-guests-wait',
        holds: 'Guests with many documents do not make the owner wait for all of them.',
        find: 'const guests = new Slots(1);',
        replace: 'const guests = new Slots(9);',
      },
    ],
  ),
];

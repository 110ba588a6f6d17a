import { guardsIn, type Guard } from '../guard.ts';

const EXEC = 'tools/exec.test.ts';
const FILE_TAINT = 'tools/file-taint.test.ts';

/** How shell commands are run. */
export const EXEC_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'tools/exec/exec.ts',
    [EXEC],
    [
      {
        name: 'exec-owner',
        holds: 'Commands are run for the owner alone.',
        find: "role: 'owner',\n    timeoutMs: TOOL_TIMEOUT_MS,",
        replace: 'timeoutMs: TOOL_TIMEOUT_MS,',
        tests: ['e2e/roles.test.ts'],
      },
      {
        name: 'exec-taint-action',
        holds: 'A command with the network is asked about while strangers have a say.',
        find: "if ((await enclosure.reachOf(params)) === 'workspace') return null;",
        replace: 'if (params.command !== null) return null;',
        tests: ['tools/exec-ask-about.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'tools/exec/decision.ts',
    [EXEC],
    [
      {
        name: 'exec-standing-tree',
        holds: 'What was allowed for good does not count while files with text from others lie where it runs.',
        find: "reads !== 'machine' &&",
        replace: "reads === 'machine' &&",
        tests: ['tools/exec-ask-about.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'tools/exec/enclosure.ts',
    [EXEC],
    [
      {
        name: 'exec-untested-sandbox',
        holds: 'A sandbox that did not pass its test does not count as one.',
        find: "return sentences('There is no sandbox, so each command needs your approval', why);",
        replace: 'return null;',
        tests: ['tools/exec-ask-about.test.ts'],
      },
      {
        name: 'exec-private-in-groups',
        holds: "Where others read along, the owner's commands do not show the memory.",
        find: "role: seesPrivate(context.person) ? 'owner' : weakest(context.person.role, 'trusted'),",
        replace: 'role: context.person.role,',
        tests: ['tools/exec-group.test.ts'],
      },
      {
        name: 'exec-environment',
        holds: "Commands see no variable of the assistant's environment but those that are named.",
        find: "return shellCall(params.command, { ...env, HOME: environment['HOME'] ?? workspace });",
        replace:
          "return shellCall(params.command, { ...(process.env as Record<string, string>), ...env, HOME: environment['HOME'] ?? workspace });",
      },
    ],
  ),
  ...guardsIn(
    'tools/exec/taint.ts',
    [FILE_TAINT],
    [
      {
        name: 'exec-taint-private',
        holds: "What a command prints may be the owner's.",
        find: '{ private: true, untrusted: true } : { private: true };',
        replace: '{ untrusted: true } : {};',
      },
      {
        name: 'exec-taint-network',
        holds: 'What a command with the network prints may be by strangers.',
        find: "const fetches = reach === 'network' ||",
        replace: 'const fetches =',
        tests: ['tools/exec-ask-about.test.ts'],
      },
      {
        name: 'exec-taint-fetches',
        holds: 'What a command prints that looks as if it fetched something may be by strangers.',
        find: "(reach === 'anywhere' && FETCHES.test(command))",
        replace: 'false',
      },
    ],
  ),
  ...guardsIn(
    'tools/exec/remembered-commands.ts',
    ['tools/exec-ask-about.test.ts'],
    [
      {
        name: 'standing-reads',
        holds: 'What an owner allowed for good was only to read and print.',
        find: 'reads: subjects.includes(null) ? null : (subjects[0] ?? null)',
        replace: "reads: 'files'",
      },
      {
        name: 'standing-relative',
        holds: 'A program named by a relative path is not allowed for good.',
        find: "name.includes('/') || isBuiltin(name)\n",
        replace: 'isBuiltin(name)\n',
      },
      {
        name: 'standing-runners',
        holds: 'Shells and interpreters are not allowed for good, also by another name.',
        find: 'runsOthers(basename(place), args) || within(workspace, place)',
        replace: 'within(workspace, place)',
      },
    ],
  ),
];

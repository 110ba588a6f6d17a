import { guardsIn, type Guard } from '../guard.ts';

const DENIED = 'security/commands.test.ts';
const TRAPS = 'security/commands-traps.test.ts';
const ASKED = 'security/commands-ask.test.ts';

/** What is looked at in a shell command. */
export const COMMAND_READ_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands.ts',
    [DENIED],
    [
      {
        name: 'command-refusal',
        holds: 'The plainly destructive is not run, and neither is what could not be checked.',
        find: "return { decision: 'deny', reason: `This command is refused in every mode: ${reason}.` };",
        replace: "return { decision: 'allow' };",
      },
      {
        name: 'command-forgotten-substitutions',
        holds: 'A substitution in arithmetic, a test or a pattern is looked at too.',
        find: 'const output = runNode(script, scope);\n  runForgotten(script, scope);',
        replace: 'const output = runNode(script, scope);',
      },
      {
        name: 'command-functions-called',
        holds: 'A function is looked at with the arguments it is called with.',
        find: 'if (found === undefined) return undefined;\n    if (active.has(name))',
        replace: 'if (found !== undefined) return undefined;\n    if (active.has(name))',
      },
      {
        name: 'command-functions-defined',
        holds: 'The body of a function is looked at even if nothing seems to call it.',
        find: 'runNode(node.body, descend(scope, { positional: undefined, conditional: true, stdin: ANY_OUTPUT }));',
        replace: '',
        tests: [TRAPS],
      },
      {
        name: 'command-branches',
        holds: 'Each branch of an if is looked at.',
        find: 'const branches = [node.then, ...node.elif.flatMap((elif) => [elif.clause, elif.then]), ...otherwise];',
        replace: 'const branches: SyntaxNode[] = [];',
      },
      {
        name: 'command-cases',
        holds: 'Each branch of a case is looked at.',
        find: 'return joined(node.items.map((item) => maybe(item.body, scope)));',
        replace: 'return NO_OUTPUT;',
      },
      {
        name: 'command-loops-twice',
        holds: 'What a loop assigns is known in its next round.',
        find: 'maybe(body, scope);\n  maybe(body, scope);',
        replace: 'maybe(body, scope);',
        tests: [TRAPS],
      },
      {
        name: 'command-written-files',
        holds: 'What a command writes into a file and then runs is looked at.',
        find: 'files.set(path, joined(append ? [files.get(path) ?? NO_OUTPUT, output] : [output]));',
        replace: 'files.set(path, ANY_OUTPUT);',
      },
      {
        name: 'command-here-documents',
        holds: 'A here-document that is run is looked at.',
        find: 'stdin = { text, decoded: false };\n      continue;',
        replace: 'stdin = ANY_OUTPUT;\n      continue;',
      },
      {
        name: 'command-pipes',
        holds: 'What is piped into a shell is looked at.',
        find: 'for (const command of node.commands) stdin = runNode(command, fork(scope, { stdin }));',
        replace: 'for (const command of node.commands) stdin = runNode(command, fork(scope, { stdin: ANY_OUTPUT }));',
      },
      {
        name: 'command-redirect-hosts',
        holds: "bash's /dev/tcp to a private host is asked about.",
        find: "if (host !== undefined) note(scope, [{ reason: `it names ${host}`, needs: 'network' }]);",
        replace: '',
        tests: [ASKED],
      },
      {
        name: 'command-redirect-places',
        holds: 'A redirection into a start-up file or the state of the assistant is asked about.',
        find: 'note(scope, redirectConcerns(posix.resolve(directory, target), writes, place));',
        replace: 'void directory;',
        tests: [ASKED],
      },
    ],
  ),
  ...guardsIn(
    'security/commands/simple.ts',
    [DENIED],
    [
      {
        name: 'simple-wrapped-command',
        holds: 'A command behind sudo, env, timeout and the like is looked at.',
        find: 'return runSimple(unwrapped.argv, descend(scope), engine);',
        replace: 'return ANY_OUTPUT;',
      },
      {
        name: 'simple-shell-code',
        holds: 'Code for sh -c is looked at.',
        find: 'return runShell(unwrapped.code, unwrapped.args, descend(scope), engine);',
        replace: 'return ANY_OUTPUT;',
      },
      {
        name: 'simple-shell-file',
        holds: 'A script that the command wrote itself is looked at.',
        find: 'return runFile(unwrapped.path, descend(scope, { positional: unwrapped.args }), engine);',
        replace: 'return ANY_OUTPUT;',
      },
      {
        name: 'simple-shell-input',
        holds: 'What a shell reads from its input is looked at.',
        find: 'return runInput(scope.stdin, descend(scope, { positional: [] }), engine);',
        replace: 'return ANY_OUTPUT;',
      },
      {
        name: 'simple-inline-shell',
        holds: 'A shell that code of another language calls is looked at.',
        find: 'for (const code of inline.shell) engine.runCode(code, descend(scope));',
        replace: '',
      },
      {
        name: 'simple-fetched-input',
        holds: 'What a server sends is not piped into a shell without a yes.',
        find: 'if (input.fetched === true) note(scope, [FETCHED_CODE]);',
        replace: '',
        tests: [ASKED],
      },
      {
        name: 'simple-fetched-interpreter',
        holds: 'What a server sends is not run by another interpreter without a yes.',
        find: 'if (runsFetched(simple, scope)) note(scope, [FETCHED_CODE]);',
        replace: '',
        tests: [ASKED],
      },
      {
        name: 'simple-eval',
        holds: 'What eval is given is looked at.',
        find: "return runEval(args.join(' '), scope, engine);",
        replace: 'return ANY_OUTPUT;',
      },
      {
        name: 'simple-xargs',
        holds: 'What xargs runs is looked at.',
        find: 'return runXargs(args, scope, engine);',
        replace: 'return ANY_OUTPUT;',
      },
      {
        name: 'simple-find-delete',
        holds: 'find -delete does not take the system or a home.',
        find: 'const lost = deletes && !narrowed ? losing(roots, scope.directories) : undefined;',
        replace: 'const lost = undefined;',
      },
      {
        name: 'simple-find-exec',
        holds: 'What find -exec runs is looked at.',
        find: 'for (const command of commands) {\n    for (const place',
        replace: 'for (const command of commands.slice(0, 0)) {\n    for (const place',
      },
      {
        name: 'simple-change-directory',
        holds: 'A relative path is judged where cd has led.',
        find: 'scope.directories = [...new Set(scope.conditional ? [...scope.directories, ...next] : next)].slice(-8);',
        replace: '',
      },
      {
        name: 'simple-program-concerns',
        holds: 'Other rights, mounts, cron, units and published packages are asked about.',
        find: 'note(scope, programConcerns(shown));',
        replace: '',
        tests: [ASKED],
      },
      {
        name: 'simple-network-concerns',
        holds: 'Private hosts that a command names are asked about.',
        find: 'note(scope, networkConcerns(shown, code, scope));',
        replace: '',
        tests: [ASKED],
      },
      {
        name: 'simple-place-concerns',
        holds: 'Start-up files, keys and the state of the assistant that a command names are asked about.',
        find: 'note(scope, placeConcerns(shown, code, scope));',
        replace: '',
        tests: [ASKED],
      },
    ],
  ),
  ...guardsIn(
    'security/commands/expand.ts',
    [DENIED],
    [
      {
        name: 'expand-substitutions',
        holds: 'A command in $(…) is looked at.',
        find: 'const { text, decoded, fetched } = run(part.script, scope);',
        replace: 'const { text, decoded, fetched }: Output = { text: undefined, decoded: false };',
      },
      {
        name: 'expand-ansi-quotes',
        holds: "Words in $'…' are read as the shell reads them.",
        find: "case 'AnsiCQuoted':\n      return [part.value];",
        replace: "      return [part.value];\n    case 'AnsiCQuoted':\n      return [part.text];",
      },
      {
        name: 'expand-braces',
        holds: 'Each word of {a,b} is looked at.',
        find: 'if (choices !== undefined) return expandBraces(',
        replace: 'if (choices === null) return expandBraces(',
      },
      {
        name: 'expand-tilde',
        holds: '~ is the home.',
        find: "if (!word.text.startsWith('~')) return text;",
        replace: 'return text;',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/parameters.ts',
    [DENIED],
    [
      {
        name: 'parameters-default',
        holds: 'A variable that is never set is empty, so that "$X/" is the root.',
        find: "return GIVEN.test(name) || scope.shared.sourced ? [UNKNOWN] : [''];",
        replace: 'return [UNKNOWN];',
      },
      {
        name: 'parameters-home',
        holds: '$HOME is the home.',
        find: "if (name === 'HOME') return [HOME];",
        replace: "if (name === 'HOME') return [UNKNOWN];",
      },
    ],
  ),
  ...guardsIn(
    'security/commands/scope.ts',
    [DENIED],
    [
      {
        name: 'scope-conditional',
        holds: 'A variable that may have been set keeps its old value beside the new one.',
        find: "const before = scope.conditional ? (scope.variables.get(name) ?? ['']) : [];",
        replace: 'const before: readonly string[] = [];',
        tests: [TRAPS],
      },
    ],
  ),
];

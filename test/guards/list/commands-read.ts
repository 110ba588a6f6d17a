import { guardsIn, type Guard } from '../guard.ts';

const DENIED = 'security/commands.test.ts';
const TRAPS = 'security/commands-traps.test.ts';
const ASKED = 'security/commands-ask.test.ts';

/** What is looked at in a shell command. */
export const COMMAND_READ_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands/script.ts',
    [DENIED],
    [
      {
        name: 'command-branches',
        holds: 'Each branch of an if is looked at.',
        find: 'const branches = [node.then, ...node.elif.flatMap((elif) => [elif.clause, elif.then]), node.else];',
        replace: 'const branches: SyntaxNode[] = [];',
      },
      {
        name: 'command-cases',
        holds: 'Each branch of a case is looked at.',
        find: 'return joined(node.items.map((item) => maybe(item.body, scope)));',
        replace: "return '';",
      },
      {
        name: 'command-written-files',
        holds: 'What a command writes into a file and then runs is looked at.',
        find: "files.set(path, joined([append ? (files.get(path) ?? '') : '', output]));",
        replace: 'files.set(path, UNKNOWN);',
      },
      {
        name: 'command-here-documents',
        holds: 'A here-document that is run is looked at.',
        find: 'scope.stdin = item.delimiter?.quoted === true ? item.body.text : expandHereDoc(item.body, scope);',
        replace: '',
      },
      {
        name: 'command-pipes',
        holds: 'What is piped into a shell is looked at.',
        find: 'runNode(command, fork(scope, { stdin, beside }))',
        replace: 'runNode(command, fork(scope, { stdin: UNKNOWN, beside }))',
      },
      {
        name: 'command-redirect-places',
        holds: 'A redirection into a start-up file or the state of the assistant is asked about.',
        find: "judgePaths(paths, writes ? paths : [], scope, 'it');",
        replace: "judgePaths([], [], scope, 'it');",
        tests: [ASKED],
      },
    ],
  ),
  ...guardsIn(
    'security/commands/simple.ts',
    [DENIED],
    [
      {
        name: 'command-functions-called',
        holds: 'A function is looked at with the arguments it is called with.',
        find: "scope.variables.set('@', [args]);",
        replace: "scope.variables.set('@', [UNKNOWN]);",
      },
      {
        name: 'simple-wrapped-command',
        holds: 'A command behind sudo, env, timeout and the like is looked at.',
        find: "if ('argv' in inner) return runSimple(inner.argv, nested);",
        replace: "if ('argv' in inner) return UNKNOWN;",
      },
      {
        name: 'simple-shell-code',
        holds: 'Code for sh -c is looked at.',
        find: 'return runText(inner.code, nested);',
        replace: 'return UNKNOWN;',
      },
      {
        name: 'simple-shell-file',
        holds: 'A script that the command wrote itself is looked at.',
        find: "if ('path' in inner) return runFile(inner.path, inner.args, nested);",
        replace: "if ('path' in inner) return UNKNOWN;",
      },
      {
        name: 'simple-eval',
        holds: 'What eval is given is looked at.',
        find: "return runEval(args.join(' '), scope);",
        replace: 'return UNKNOWN;',
      },
      {
        name: 'simple-xargs',
        holds: 'What xargs runs is looked at.',
        find: 'return runEach(args, scope);',
        replace: 'return UNKNOWN;',
      },
      {
        name: 'simple-find-delete',
        holds: 'find -delete does not take the system or a home.',
        find: "const lost = expression.includes('-delete') && !isNarrowed ? reasonIfLost(roots, scope.directories) : undefined;",
        replace: 'const lost = undefined;',
      },
      {
        name: 'simple-find-exec',
        holds: 'What find -exec runs is looked at.',
        find: 'for (const argv of each) runSimple(argv, descend(scope));',
        replace: 'void each;',
      },
      {
        name: 'simple-change-directory',
        holds: 'A relative path is judged where cd has led.',
        find: 'scope.directories = [...new Set([...before, ...next])].slice(-MOST_DIRECTORIES);',
        replace: '',
      },
      {
        name: 'simple-patterns',
        holds: 'Folders that are changed by patterns do not keep the guard busy.',
        find: 'step(scope, patterns + args.length * undecidedIn(directories));',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/code.ts',
    [DENIED],
    [
      {
        name: 'simple-shell-input',
        holds: 'What a shell reads from its input is looked at.',
        find: 'if (STANDARD_INPUT.test(path)) return [scope.stdin];',
        replace: '',
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
        find: "return plain([scope.shared.run(part.script, descend(scope)).replace(/\\n+$/, '')]);",
        replace: 'return [UNKNOWN];',
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
        find: 'if (brace !== undefined && choices.length > 0) return',
        replace: 'if (brace !== undefined && choices.length > 999) return',
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
      {
        name: 'parameters-ways',
        holds: 'A pattern that is taken out of a value does not keep the guard busy.',
        find: 'step(scope, ways / WAYS_PER_STEP);',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/scope.ts',
    [TRAPS],
    [
      {
        name: 'scope-conditional',
        holds: 'A variable that may have been set keeps its old value beside the new one.',
        find: "const before = scope.conditional ? (scope.variables.get(name) ?? ['']) : [];",
        replace: 'const before: readonly string[] = [];',
      },
    ],
  ),
];

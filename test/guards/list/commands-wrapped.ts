import { guardsIn, type Guard } from '../guard.ts';

const DENIED = 'security/commands.test.ts';
const ASKED = 'security/commands-ask.test.ts';

/** Ways to hide what a shell command does, which are seen through. */
export const COMMAND_WRAPPED_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/commands/wrappers.ts',
    [DENIED],
    [
      {
        name: 'wrappers-shells',
        holds: 'Code for any shell is looked at.',
        find: 'if (SHELLS.has(name)) return unwrapShell(args);',
        replace: "if (name === 'sh') return unwrapShell(args);",
      },
      {
        name: 'wrappers-valued',
        holds: 'Options with a value do not hide the command behind a wrapper.',
        find: 'if (value === undefined && wrapper.valued.includes(flag)) i += 1;',
        replace: '',
      },
      {
        name: 'wrappers-assignments',
        holds: 'Variables that are set for a command do not hide it behind a wrapper.',
        find: '} else if (wrapper.assignments === true && /^\\w+=/.test(arg)) {\n      continue;\n    }',
        replace: '}',
      },
      {
        name: 'wrappers-words',
        holds: 'Words that stand before a command do not hide it behind a wrapper.',
        find: "} else if (arg !== '--' && words > 0) {",
        replace: "} else if (arg !== '--' && words > 99) {",
      },
      {
        name: 'wrappers-code',
        holds: 'Code in an option of a wrapper (su -c) is looked at.',
        find: 'if (wrapper.code?.includes(flag) === true) {',
        replace: 'if (wrapper.code?.includes(flag) === null) {',
      },
      {
        name: 'wrappers-line',
        holds: 'A line that another machine or a loop runs is looked at as one of a shell.',
        find: 'return wrapper.line === true ?',
        replace: 'return wrapper.line === null ?',
      },
      {
        name: 'wrappers-shell-clusters',
        holds: '-c is found among other letters.',
        find: "if (arg.startsWith('-') && arg.includes('c')) code = true;",
        replace: "if (arg === '-c') code = true;",
      },
      {
        name: 'wrappers-shell-input',
        holds: 'A shell without a file reads its input.',
        find: "if (first === undefined || (stdin && !code)) return { kind: 'stdin' };",
        replace: "if (first === undefined || (stdin && !code)) return { kind: 'nothing' };",
        tests: ['security/commands-traps.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/commands/fork-bomb.ts',
    [DENIED],
    [
      {
        name: 'fork-bomb-background',
        holds: 'A function that starts itself in the background is a fork bomb.',
        find: "(node.type === 'Statement' && node.background === true) ||",
        replace: '',
      },
      {
        name: 'fork-bomb-pipes',
        holds: 'A function that pipes itself into itself is a fork bomb.',
        find: ' || pipesCopies(node, functions);',
        replace: ';',
        tests: ['security/commands-traps.test.ts'],
      },
      {
        name: 'fork-bomb-others',
        holds: 'A function that starts itself through another is a fork bomb.',
        find: 'return [...(calls.get(from)?.all ?? [])].some((callee) => reaches(callee, to, calls, seen));',
        replace: 'return false;',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/find.ts',
    [DENIED],
    [
      {
        name: 'find-narrowed-by-all',
        holds: 'A condition that holds for everything narrows nothing.',
        find: "if (!negated && !/^[*.?]+$/.test(asCode(expression[i + 1] ?? ''))) narrowed = true;",
        replace: 'narrowed = true;',
      },
      {
        name: 'find-or',
        holds: 'A condition with an alternative narrows nothing.',
        find: "if (expression.some((word) => word === '-o' || word === '-or' || word === ',')) narrowed = false;",
        replace: '',
        tests: ['security/commands-traps.test.ts'],
      },
      {
        name: 'find-exec-kinds',
        holds: '-execdir, -ok and -okdir run commands too.',
        find: "const EXECUTES = new Set(['-exec', '-execdir', '-ok', '-okdir']);",
        replace: "const EXECUTES = new Set(['-exec']);",
      },
    ],
  ),
  ...guardsIn(
    'security/commands/echo.ts',
    [DENIED],
    [
      {
        name: 'echo-escapes',
        holds: 'What echo and printf write out of escapes is known.',
        find: "return NAMED[other ?? ''] ?? all;",
        replace: 'return all;',
      },
      {
        name: 'echo-octal',
        holds: 'What they write out of octal numbers is known.',
        find: 'if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);',
        replace: '',
      },
      {
        name: 'echo-hexadecimal',
        holds: 'What they write out of hexadecimal numbers is known.',
        find: 'if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));',
        replace: '',
      },
      {
        name: 'printf-arguments',
        holds: 'What printf writes out of its arguments is known.',
        find: "if (kind === 's') return value;",
        replace: "if (kind === 's') return '';",
      },
    ],
  ),
  ...guardsIn(
    'security/commands/simple.ts',
    [DENIED],
    [
      {
        name: 'simple-builtin-set',
        holds: 'Arguments that set gives to a script are known.',
        find: "if (args.includes('--')) scope.positional = args.slice(args.indexOf('--') + 1);",
        replace: "if (args.includes('--')) scope.positional = undefined;",
        tests: ['security/commands-traps.test.ts'],
      },
      {
        name: 'simple-builtin-read',
        holds: 'What read takes from a pipe is known.',
        find: 'assign(scope, variable, linesOf(scope.stdin));',
        replace: "assign(scope, variable, ['x']);",
      },
      {
        name: 'simple-builtin-trap',
        holds: 'What a trap runs is looked at.',
        find: "if (args[0] !== undefined && !args[0].startsWith('-')) runText(args[0], descend(scope), engine);",
        replace: '',
      },
      {
        name: 'simple-builtin-alias',
        holds: 'What an alias stands for is looked at.',
        find: "runText(arg.slice(arg.indexOf('=') + 1), descend(scope), engine);\n      return NO_OUTPUT;",
        replace: 'void arg;\n      return NO_OUTPUT;',
      },
      {
        name: 'simple-builtin-at',
        holds: 'What at runs later is looked at.',
        find: "case 'at':\n    case 'batch':\n      return runInput(scope.stdin, descend(scope), engine);",
        replace: "case 'at':\n    case 'batch':\n      return NO_OUTPUT;",
      },
      {
        name: 'simple-declared',
        holds: 'Variables that declare and export set are known.',
        find: 'if (equals > 0) assign(scope, arg.slice(0, equals), [arg.slice(equals + 1)]);',
        replace: '',
      },
      {
        name: 'simple-fetched-files',
        holds: 'A file that a client keeps counts as from a server.',
        find: 'for (const directory of scope.directories) scope.shared.files.set(posix.resolve(directory, file), output);',
        replace: 'void file;',
        tests: [ASKED],
      },
      {
        name: 'simple-decoders',
        holds: 'What a decoder writes is known as decoded.',
        find: "case 'uudecode':\n    case 'rev':\n    case 'tr':\n      return { text: undefined, decoded: true };",
        replace: "case 'uudecode':\n    case 'rev':\n    case 'tr':\n      return ANY_OUTPUT;",
      },
      {
        name: 'simple-xxd',
        holds: 'What xxd writes is known as decoded.',
        find: 'decoded: stdin.decoded || args.some((arg) => /^-\\w*r/.test(arg))',
        replace: 'decoded: stdin.decoded',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/rules.ts',
    [DENIED],
    [
      {
        name: 'rules-inline-forks',
        holds: 'Code of another language does not start copies of itself without end.',
        find: "reason: forks ? 'it is a fork bomb' : lost",
        replace: 'reason: lost',
      },
    ],
  ),
];

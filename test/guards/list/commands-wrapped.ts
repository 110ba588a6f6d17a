import { guardsIn, type Guard } from '../guard.ts';

const DENIED = 'security/commands.test.ts';
const TRAPS = 'security/commands-traps.test.ts';
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
        find: 'if (SHELLS.test(name)) return unwrapShell(args);',
        replace: "if (name === 'sh') return unwrapShell(args);",
      },
      {
        name: 'wrappers-valued',
        holds: 'Options with a value do not hide the command behind a wrapper.',
        find: 'if (value === undefined && valued.includes(flag)) i += 1;',
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
        find: 'if (code.includes(flag)) {',
        replace: 'if (code.includes(`${flag}!`)) {',
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
        find: "if (letters.includes('c')) code = true;",
        replace: "if (letters === 'c') code = true;",
      },
      {
        name: 'wrappers-shell-input',
        holds: 'A shell without a file reads its input.',
        find: "if (first === undefined || (stdin && !code)) return { path: '/dev/stdin', args: [] };",
        replace: 'if (first === undefined || (stdin && !code)) return NOTHING;',
        tests: [TRAPS],
      },
    ],
  ),
  ...guardsIn(
    'security/commands/script.ts',
    [DENIED],
    [
      {
        name: 'fork-bomb-background',
        holds: 'A function that starts itself in the background is a fork bomb.',
        find: 'return runNode(node.command, { ...scope, beside: scope.beside + 1 });',
        replace: 'return runNode(node.command, { ...scope });',
      },
      {
        name: 'fork-bomb-pipes',
        holds: 'A function that pipes itself into itself is a fork bomb.',
        find: 'const beside = scope.beside + (copies.length > 1 ? 1 : 0);',
        replace: 'const { beside } = scope;',
        tests: [TRAPS],
      },
    ],
  ),
  ...guardsIn(
    'security/commands/simple.ts',
    [DENIED],
    [
      {
        name: 'find-narrowed-by-all',
        holds: 'A condition that holds for everything narrows nothing.',
        find: "!/^[*.?]+$/.test(asCode(expression[i + 1] ?? ''))",
        replace: 'word.length > 0',
      },
      {
        name: 'find-or',
        holds: 'A condition with an alternative narrows nothing.',
        find: '!expression.some((word) => /^(?:-o|-or|,)$/.test(word)) &&',
        replace: '',
        tests: [TRAPS],
      },
      {
        name: 'find-exec-kinds',
        holds: '-execdir, -ok and -okdir run commands too.',
        find: '!/^-(?:exec|ok)(?:dir)?$/.test(word)',
        replace: "word !== '-exec'",
      },
      {
        name: 'simple-builtin-set',
        holds: 'Arguments that set gives to a script are known.',
        find: "if (args.includes('--')) assign(scope, '@', [args.slice(args.indexOf('--') + 1).join(SPLIT)]);",
        replace: "if (args.includes('--')) assign(scope, '@', [UNKNOWN]);",
        tests: [TRAPS],
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
        find: "return first.startsWith('-') ? '' : runText(first, descend(scope));",
        replace: "return '';",
      },
      {
        name: 'simple-builtin-at',
        holds: 'What at runs later is looked at.',
        find: "case 'batch':\n      return runText(scope.stdin, descend(scope));",
        replace: "case 'batch':\n      return '';",
      },
      {
        name: 'simple-declared',
        holds: 'Variables that declare and export set are known.',
        find: "if (arg.includes('=')) assign(scope, arg.split('=', 1)[0] ?? '', [valueOf(arg)]);",
        replace: 'void arg;',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/output.ts',
    [DENIED],
    [
      {
        name: 'echo-octal',
        holds: 'What they write out of octal numbers is known.',
        find: 'if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);',
        replace: '',
      },
      {
        name: 'echo-hexadecimal',
        holds: 'What they write out of hexadecimal numbers is known.',
        find: 'if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));',
        replace: '',
      },
      {
        name: 'printf-arguments',
        holds: 'What printf writes out of its arguments is known.',
        find: "if (kind === 's') return value;",
        replace: "if (kind === 's') return '';",
      },
      {
        name: 'simple-fetched-files',
        holds: 'A file that a client keeps counts as from a server.',
        find: 'for (const directory of directories) shared.files.set(posix.resolve(directory, file), output);',
        replace: 'void file;',
        tests: [ASKED],
      },
      {
        name: 'simple-decoders',
        holds: 'What a decoder writes is known as decoded.',
        find: '|(?:uudecode|rev|tr)(?:\\n|$)',
        replace: '',
      },
      {
        name: 'simple-xxd',
        holds: 'What xxd writes is known as decoded.',
        find: '|xxd\\n(?:.*\\n)*?-\\w*r',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/code.ts',
    [DENIED],
    [
      {
        name: 'rules-inline-removes',
        holds: 'Code of another language does not delete the system.',
        find: "refusal: isBomb ? 'it is a fork bomb' : lost === undefined ? undefined : `it would delete ${lost}`,",
        replace: "refusal: isBomb ? 'it is a fork bomb' : undefined,",
      },
      {
        name: 'rules-inline-forks',
        holds: 'Code of another language does not start copies of itself without end.',
        find: "refusal: isBomb ? 'it is a fork bomb' : lost",
        replace: 'refusal: lost',
      },
    ],
  ),
  ...guardsIn(
    'security/commands/places.ts',
    [DENIED],
    [
      {
        name: 'rules-truncate',
        holds: 'Nothing is written over a disk by tee, truncate and shred.',
        find: '/^(?:tee|truncate|shred|rm|unlink|mkdir)$/',
        replace: '/^(?:rm|unlink|mkdir)$/',
      },
      {
        name: 'rules-copy',
        holds: 'Nothing is copied over a disk, from here or elsewhere.',
        find: '/^(?:cp|mv|install|ln|rsync|scp)$/',
        replace: '/^(?:mv|ln)$/',
      },
    ],
  ),
];

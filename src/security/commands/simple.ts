import { posix } from 'node:path';
import { echoOutput, printfOutput } from './echo.ts';
import { parseFind } from './find.ts';
import { outside } from './ask/concern.ts';
import { interpreterCode, runsFetched } from './ask/interpreter.ts';
import { networkConcerns } from './ask/network.ts';
import { placeConcerns } from './ask/places.ts';
import { programConcerns } from './ask/programs.ts';
import { asCode, DECODED, FETCHED, isUndecided, SPLIT, SUBSTITUTION, UNKNOWN, withoutTraces } from './marks.ts';
import { OWN_JOB } from './parameters.ts';
import { ifItWereRemove, inlineCode, losing, ruinousReason, type Simple } from './rules.ts';
import {
  ANY_OUTPUT,
  assign,
  countWords,
  descend,
  NO_OUTPUT,
  note,
  Refusal,
  step,
  type Output,
  type Scope,
} from './scope.ts';
import { HOME } from './targets.ts';
import { unwrap } from './wrappers.ts';

/** What needs the whole interpreter, handed in to keep the pieces apart. */
export interface Engine {
  /** Checks shell code; `args` become `$1 …`. */
  runCode(code: string, scope: Scope): Output;
  /** Undefined when there is no function of that name. */
  callFunction(name: string, args: readonly string[], scope: Scope): Output | undefined;
  /** The output of the process substitution with this number. */
  substitution(index: number, scope: Scope): Output;
}

/** What nobody saw before it runs. */
const FETCHED_CODE = outside('it runs what a server sends, which nobody has read');

const DECLARES = new Set(['export', 'declare', 'typeset', 'local', 'readonly']);

const WORDS_PER_STEP = 2;

/** Checks one command whose words are expanded; returns what it writes, as far as that can be known. */
export function runSimple(argv: readonly string[], scope: Scope, engine: Engine): Output {
  step(scope, 1 + argv.length / WORDS_PER_STEP);
  countWords(argv);
  const [program = '', ...args] = argv;
  if (program === '') return NO_OUTPUT;
  const path = withoutTraces(program);
  const name = posix.basename(path);
  const simple = { name, args, directories: scope.directories };
  noteConcerns(simple, scope);
  refuseIf(program.includes(UNKNOWN) || isUndecided(name) ? ifItWereRemove(args, scope.directories) : undefined);

  const called = engine.callFunction(name, args, scope);
  const unwrapped = unwrap(name, args);
  if (unwrapped !== undefined) {
    switch (unwrapped.kind) {
      case 'command':
        return runSimple(unwrapped.argv, descend(scope), engine);
      case 'script':
        return runShell(unwrapped.code, unwrapped.args, descend(scope), engine);
      case 'file':
        return runFile(unwrapped.path, descend(scope, { positional: unwrapped.args }), engine);
      case 'stdin':
        return runInput(scope.stdin, descend(scope, { positional: [] }), engine);
      case 'nothing':
        return ANY_OUTPUT;
      default:
        return unwrapped satisfies never;
    }
  }
  refuseIf(ruinousReason(simple));
  if (runsFetched(simple, scope)) note(scope, [FETCHED_CODE]);
  const inline = inlineCode(simple);
  refuseIf(inline.reason);
  for (const code of inline.shell) engine.runCode(code, descend(scope));
  if (path.includes('/')) runFile(path, descend(scope, { positional: args }), engine);
  return called ?? builtin(name, args, scope, engine) ?? outputOf(name, args, scope.stdin, scope);
}

/** No option or path that matters is longer. */
const LONGEST_ARGUMENT = 2_000;

/** A pattern is compared with each name that is protected. */
const PATTERN_STEPS = 16;

function noteConcerns(simple: Simple, scope: Scope): void {
  step(scope, simple.args.filter(isUndecided).length * PATTERN_STEPS);
  const code = interpreterCode(simple, scope);
  const shown = { ...simple, args: simple.args.map((arg) => arg.slice(0, LONGEST_ARGUMENT)) };
  note(scope, programConcerns(shown));
  note(scope, networkConcerns(shown, code, scope));
  note(scope, placeConcerns(shown, code, scope));
}

/** Shell builtins and programs that run what they are given; undefined for all others. */
function builtin(name: string, args: readonly string[], scope: Scope, engine: Engine): Output | undefined {
  switch (name) {
    case 'cd':
    case 'pushd':
      changeDirectory(args, scope);
      return ANY_OUTPUT;
    case 'set':
      if (args.includes('--')) scope.positional = args.slice(args.indexOf('--') + 1);
      else if (args.length > 0 && !/^[-+]/.test(args[0] ?? '')) scope.positional = args;
      return NO_OUTPUT;
    case 'read':
      for (const variable of args.filter((arg) => /^\w+$/.test(arg))) assign(scope, variable, linesOf(scope.stdin));
      return NO_OUTPUT;
    case 'mapfile':
    case 'readarray':
      assign(scope, args.findLast((arg) => /^\w+$/.test(arg)) ?? 'MAPFILE', [linesOf(scope.stdin).join(SPLIT)]);
      return NO_OUTPUT;
    case 'getopts':
      assign(scope, args[1] ?? 'OPTARG', [UNKNOWN]);
      assign(scope, 'OPTARG', [UNKNOWN]);
      return NO_OUTPUT;
    case 'source':
    case '.':
      scope.shared.sourced = true;
      return runFile(args[0] ?? '', descend(scope), engine);
    case 'eval':
      if (args.some((arg) => arg.includes(UNKNOWN))) scope.shared.sourced = true;
      return runEval(args.join(' '), scope, engine);
    case 'trap':
      if (args[0] !== undefined && !args[0].startsWith('-')) runText(args[0], descend(scope), engine);
      return NO_OUTPUT;
    case 'alias':
      for (const arg of args.filter((arg) => arg.includes('=')))
        runText(arg.slice(arg.indexOf('=') + 1), descend(scope), engine);
      return NO_OUTPUT;
    case 'at':
    case 'batch':
      return runInput(scope.stdin, descend(scope), engine);
    case 'xargs':
    case 'parallel':
      return runXargs(args, scope, engine);
    case 'find':
      return runFind(args, scope, engine);
    default:
      return DECLARES.has(name) ? declare(args, scope) : undefined;
  }
}

function declare(args: readonly string[], scope: Scope): Output {
  for (const arg of args) {
    const equals = arg.indexOf('=');
    if (equals > 0) assign(scope, arg.slice(0, equals), [arg.slice(equals + 1)]);
  }
  return NO_OUTPUT;
}

function changeDirectory(args: readonly string[], scope: Scope): void {
  const target = args.find((arg) => !/^-[LPe@]+$/.test(arg) && arg !== '--') ?? HOME;
  const next = scope.directories.map((directory) =>
    target.includes(UNKNOWN) || target === '-' ? `/${UNKNOWN}/x/y` : posix.resolve(directory, target),
  );
  scope.directories = [...new Set(scope.conditional ? [...scope.directories, ...next] : next)].slice(-8);
}

/** Files are known when the command itself wrote them. */
function runFile(path: string, scope: Scope, engine: Engine): Output {
  const substitution = new RegExp(`${SUBSTITUTION}(\\d+)${SUBSTITUTION}`).exec(path);
  if (substitution !== null) return runInput(engine.substitution(Number(substitution[1]), scope), scope, engine);
  if (path === '/dev/stdin' || path === '/proc/self/fd/0' || path === '/dev/fd/0')
    return runInput(scope.stdin, scope, engine);
  const written = scope.directories.map((directory) => scope.shared.files.get(posix.resolve(directory, path)));
  for (const output of written) if (output !== undefined) runInput(output, scope, engine);
  return ANY_OUTPUT;
}

function runInput(input: Output, scope: Scope, engine: Engine): Output {
  if (input.decoded) throw new Refusal('it runs decoded data as a command, so nobody can see what it does');
  if (input.fetched === true) note(scope, [FETCHED_CODE]);
  return input.text === undefined ? ANY_OUTPUT : runText(input.text, scope, engine);
}

function runText(code: string, scope: Scope, engine: Engine): Output {
  if (code.includes(DECODED)) return runInput({ text: undefined, decoded: true }, scope, engine);
  if (code.includes(FETCHED)) note(scope, [FETCHED_CODE]);
  return engine.runCode(asCode(code), scope);
}

/** In the same shell: what it changes stays. */
function runEval(code: string, scope: Scope, engine: Engine): Output {
  const { depth } = scope;
  scope.depth = descend(scope).depth;
  try {
    return runText(code, scope, engine);
  } finally {
    scope.depth = depth;
  }
}

function runShell(code: string, [zero, ...positional]: readonly string[], scope: Scope, engine: Engine): Output {
  scope.positional = positional;
  if (zero !== undefined) scope.variables.set('0', [zero]);
  return runText(code, scope, engine);
}

const XARGS_VALUED = /^-[aEdIjnLPs]$|^--(?:arg-file|delimiter|max-args|max-procs|max-lines|replace|jobs)$/;

function runXargs(args: readonly string[], scope: Scope, engine: Engine): Output {
  let at = 0;
  let placeholder: string | undefined;
  for (; at < args.length && (args[at] ?? '').startsWith('-'); at += 1) {
    const arg = args[at] ?? '';
    const replace = /^(?:-I|-i|--replace=?)(.*)$/.exec(arg);
    if (replace !== null) placeholder = replace[1] !== '' ? replace[1] : arg === '-I' ? args[at + 1] : '{}';
    if (XARGS_VALUED.test(arg)) at += 1;
  }
  const separator = args.findIndex((arg) => arg.startsWith(':::'));
  const command = args.slice(at, separator < 0 ? undefined : separator);
  const { text, decoded } = scope.stdin;
  const given = separator < 0 ? (text?.split(/[\s\0]+/).filter(Boolean) ?? [UNKNOWN]) : args.slice(separator + 1);
  const items = given.slice(0, 200).map((item) => (decoded ? DECODED : '') + item);
  const inner = descend(scope, { stdin: NO_OUTPUT });
  const mark = placeholder ?? '{}';
  if (placeholder !== undefined || command.some((word) => word.includes(mark))) {
    for (const item of items)
      runSimple(
        command.map((word) => word.replaceAll(mark, () => item)),
        inner,
        engine,
      );
  } else {
    runSimple(command.length === 0 ? items : [...command, ...items], inner, engine);
  }
  return ANY_OUTPUT;
}

function runFind(args: readonly string[], scope: Scope, engine: Engine): Output {
  const { roots, narrowed, deletes, commands } = parseFind(args);
  const lost = deletes && !narrowed ? losing(roots, scope.directories) : undefined;
  refuseIf(lost === undefined ? undefined : `it would delete ${lost}`);
  const found = narrowed ? roots.map((root) => `${root}/${UNKNOWN}/${UNKNOWN}/${UNKNOWN}`) : roots;
  for (const command of commands) {
    for (const place of found.slice(0, 50)) {
      runSimple(
        command.map((word) => word.replaceAll('{}', () => place)),
        descend(scope),
        engine,
      );
    }
  }
  return { text: `${found.join('\n')}\n`, decoded: false };
}

function linesOf({ text }: Output): string[] {
  return text === undefined ? [UNKNOWN] : text.split('\n').filter(Boolean).slice(0, 16);
}

const DECODES = /^(?:-[a-zA-Z]*[dD]|--decode)$/;

/** Clients that print, or keep in a file, what a server sends. */
const FETCHES = new Set(['curl', 'wget', 'http', 'https', 'xh', 'aria2c', 'lynx', 'w3m']);

/** What a client writes: to its output, and into the file that it names. */
function fetch(args: readonly string[], scope: Scope): Output {
  const output: Output = { text: undefined, decoded: false, fetched: true };
  const named = args.flatMap((arg, i) =>
    /^(?:-[a-zA-Z]*[oO]|--output(?:-document)?)$/.test(args[i - 1] ?? '') ? arg : [],
  );
  const long = args.flatMap((arg) => /^--output(?:-document)?=(.+)$/.exec(arg)?.[1] ?? []);
  const served = args.flatMap((arg) => /^\w+:\/\/[^?#]*\/([^/?#]+)/.exec(arg)?.[1] ?? []);
  for (const file of [...named, ...long, ...served])
    for (const directory of scope.directories) scope.shared.files.set(posix.resolve(directory, file), output);
  return output;
}

function outputOf(name: string, args: readonly string[], stdin: Output, scope: Scope): Output {
  if (FETCHES.has(name)) return fetch(args, scope);
  switch (name) {
    case 'echo':
      return written(echoOutput(args));
    case 'printf':
      if (args[0] === '-v') {
        assign(scope, args[1] ?? '', [printfOutput(args.slice(2))]);
        return NO_OUTPUT;
      }
      return written(printfOutput(args));
    case 'pwd':
      return written(`${scope.directories[0] ?? UNKNOWN}\n`);
    case 'dirname':
      return written(`${posix.dirname(args.at(-1) ?? '')}\n`);
    case 'realpath':
    case 'readlink':
      return written(`${posix.resolve(scope.directories[0] ?? '/', args.at(-1) ?? '')}\n`);
    case 'jobs':
      return written(`${OWN_JOB}\n`);
    case 'cat':
    case 'tee':
      return name === 'tee' || args.every((arg) => arg.startsWith('-')) ? stdin : ANY_OUTPUT;
    case 'base64':
    case 'base32':
    case 'basenc': {
      if (!args.some((arg) => DECODES.test(arg))) return { text: undefined, decoded: stdin.decoded };
      const known = name === 'base64' && stdin.text !== undefined && !stdin.text.includes(UNKNOWN);
      return { text: known ? Buffer.from(stdin.text, 'base64').toString('utf8') : undefined, decoded: true };
    }
    case 'xxd':
      return { text: undefined, decoded: stdin.decoded || args.some((arg) => /^-\w*r/.test(arg)) };
    case 'openssl':
      return { text: undefined, decoded: stdin.decoded || args.includes('-d') };
    case 'uudecode':
    case 'rev':
    case 'tr':
      return { text: undefined, decoded: true };
    default:
      return { text: undefined, decoded: stdin.decoded, fetched: stdin.fetched === true };
  }
}

function written(text: string): Output {
  return text.includes(UNKNOWN) && /^\uE000\s*$/.test(text)
    ? ANY_OUTPUT
    : { text: asCode(text), decoded: text.includes(DECODED) };
}

function refuseIf(reason: string | undefined): void {
  if (reason !== undefined) throw new Refusal(reason);
}

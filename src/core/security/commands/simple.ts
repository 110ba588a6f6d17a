import { posix } from 'node:path';
import { parse } from 'unbash';
import { codeOf, writtenTo } from './code.ts';
import {
  asCode,
  DECODED,
  FETCHED,
  isUndecided,
  undecidedIn,
  isUnknown,
  SPLIT,
  UNKNOWN,
  withoutTraces,
} from './placeholders.ts';
import { networkRisks } from './network.ts';
import { outputOf } from './output.ts';
import { valuesOf } from './parameters.ts';
import { judgePlaces } from './places.ts';
import { judgeProgram } from './rules.ts';
import { assign, countWords, descend, noteRisk, Refusal, step, type Scope } from './scope.ts';
import { HOME, reasonIfLost } from './targets.ts';
import { unwrapCommand } from './wrappers.ts';

const FETCHED_CODE = 'it runs what a server sends, which no one has read';
const WORDS_PER_STEP = 2;
/** Steps that one glob pattern costs: it is compared with each protected name in each folder that it may match in. */
const PATTERN_STEPS = 16;
/** No system opens a longer path, and no option that matters is longer. */
const LONGEST_PATH = 4_096;
/** Commands that keep an endless loop from starting ever more processes. */
const HOLDS = /^(?:wait|sleep|break|exit|return|read)$/;

/** Checks one command whose words are expanded; returns its output as far as that can be known. */
export function runSimple(argv: readonly string[], scope: Scope): string {
  step(scope, 1 + argv.length / WORDS_PER_STEP);
  countWords(argv);
  const [program = '', ...args] = argv;
  if (program === '') return '';
  const { directories, shared } = scope;
  const patterns = undecidedIn(args) * PATTERN_STEPS * directories.length;
  step(scope, patterns + args.length * undecidedIn(directories));
  const path = withoutTraces(program);
  const name = posix.basename(path);
  if (HOLDS.test(name)) shared.held += 1;
  const code = codeOf(name, args, scope);
  const simple = { name, args: args.map((arg) => arg.slice(0, LONGEST_PATH)), directories };
  refuseIf(code.refusal);
  judgeProgram(simple, scope);
  // The name of the program is not known, so it may be rm.
  if (isUndecided(program) && args.some((arg) => /^-[a-zA-Z]*[rR]|^--recursive$/.test(arg)))
    judgeProgram({ ...simple, name: 'rm' }, scope);
  networkRisks(simple, code.text, scope);
  judgePlaces(simple, code.text, scope);
  if (code.isFetched) noteRisk(scope, 'outside', FETCHED_CODE);
  for (const shell of code.shell) shared.run(parse(shell), descend(scope));

  const called = callFunction(name, args.join(SPLIT), scope);
  const inner = unwrapCommand(name, args);
  if (inner !== undefined) {
    const nested = descend(scope);
    if ('argv' in inner) return runSimple(inner.argv, nested);
    if ('path' in inner) return runFile(inner.path, inner.args, nested);
    const [zero, ...given] = inner.args;
    if (zero !== undefined) nested.variables.set('0', [zero]);
    nested.variables.set('@', [given.join(SPLIT)]);
    return runText(inner.code, nested);
  }
  if (path.includes('/')) runFile(path, args, descend(scope));
  return called ?? builtin(name, args, scope) ?? outputOf(name, args, scope);
}

/** Runs a function of the script; undefined when there is none of that name. `args` are joined by SPLIT. */
export function callFunction(name: string, args: string, scope: Scope): string | undefined {
  const { functions, active, run } = scope.shared;
  const found = functions.get(name);
  if (found === undefined) return undefined;
  const begun = active.get(found);
  if (begun !== undefined) {
    refuseIf(scope.beside > begun ? `the function \`${name}\` is a fork bomb` : undefined);
    return UNKNOWN;
  }
  const before = valuesOf('@', scope);
  active.set(found, scope.beside);
  scope.variables.set('@', [args]);
  const output = run(found.body, scope);
  scope.variables.set('@', before);
  active.delete(found);
  return output;
}

/** Shell builtins and programs that run what they are given; undefined for all others. */
function builtin(name: string, args: readonly string[], scope: Scope): string | undefined {
  const [first = '', second = ''] = args;
  switch (name) {
    case 'cd':
    case 'pushd':
      changeDirectory(args, scope);
      return UNKNOWN;
    case 'set':
      if (args.includes('--')) assign(scope, '@', [args.slice(args.indexOf('--') + 1).join(SPLIT)]);
      else if (/^[^-+]/.test(first)) assign(scope, '@', [args.join(SPLIT)]);
      return '';
    case 'read':
      for (const variable of args.filter((arg) => /^\w+$/.test(arg))) assign(scope, variable, linesOf(scope.stdin));
      return '';
    case 'mapfile':
    case 'readarray':
      assign(scope, args.findLast((arg) => /^\w+$/.test(arg)) ?? 'MAPFILE', [linesOf(scope.stdin).join(SPLIT)]);
      return '';
    case 'getopts':
      for (const variable of [second, 'OPTARG']) assign(scope, variable, [UNKNOWN]);
      return '';
    case 'export':
    case 'declare':
    case 'typeset':
    case 'local':
    case 'readonly':
      for (const arg of args) if (arg.includes('=')) assign(scope, arg.split('=', 1)[0] ?? '', [valueOf(arg)]);
      return '';
    case 'source':
    case '.':
      scope.shared.sourced = true;
      return runFile(first, undefined, descend(scope));
    case 'eval':
      if (args.some((arg) => arg.includes(UNKNOWN))) scope.shared.sourced = true;
      return runEval(args.join(' '), scope);
    case 'trap':
      return first.startsWith('-') ? '' : runText(first, descend(scope));
    case 'alias':
      for (const arg of args) if (arg.includes('=')) runText(valueOf(arg), descend(scope));
      return '';
    case 'at':
    case 'batch':
      return runText(scope.stdin, descend(scope));
    case 'xargs':
    case 'parallel':
      return runEach(args, scope);
    case 'find':
      return runFind(args, scope);
    default:
      return undefined;
  }
}

function valueOf(assignment: string): string {
  return assignment.slice(assignment.indexOf('=') + 1);
}

/** Most working directories that are considered at the same time. */
const MOST_DIRECTORIES = 8;
const NOWHERE = `/${UNKNOWN}/x/y`;

function changeDirectory(args: readonly string[], scope: Scope): void {
  const target = args.find((arg) => !/^-[LPe@]+$/.test(arg) && arg !== '--') ?? HOME;
  const isKnown = !target.includes(UNKNOWN) && target !== '-';
  const next = scope.directories
    .map((directory) => (isKnown ? posix.resolve(directory, target) : NOWHERE))
    .map((directory) => (directory.length > LONGEST_PATH ? NOWHERE : directory));
  const before = scope.conditional ? scope.directories : [];
  scope.directories = [...new Set([...before, ...next])].slice(-MOST_DIRECTORIES);
}

/** Runs a script file, whose content is known if the command itself wrote it. `args`: its arguments; undefined: unchanged. */
function runFile(path: string, args: readonly string[] | undefined, scope: Scope): string {
  if (args !== undefined) scope.variables.set('@', [args.join(SPLIT)]);
  const outputs = writtenTo(path, scope).map((code) => runText(code, scope));
  return outputs[0] ?? UNKNOWN;
}

function runText(code: string, scope: Scope): string {
  refuseIf(code.includes(DECODED) ? 'it runs decoded data as a command, so no one can see what it does' : undefined);
  if (code.includes(FETCHED)) noteRisk(scope, 'outside', FETCHED_CODE);
  return isUnknown(code) ? UNKNOWN : scope.shared.run(parse(asCode(code)), scope);
}

/** Runs code in the same shell, so its variables and directories stay. */
function runEval(code: string, scope: Scope): string {
  const inner = descend(scope, { variables: scope.variables });
  const output = runText(code, inner);
  scope.directories = inner.directories;
  return output;
}

const VALUED = /^-[aEdIjnLPs]$|^--(?:arg-file|delimiter|max-args|max-procs|max-lines|replace|jobs)$/;
const MOST_ITEMS = 200;

/** `xargs` and `parallel`. */
function runEach(args: readonly string[], scope: Scope): string {
  let at = 0;
  let placeholder: string | undefined;
  for (; args[at]?.startsWith('-') === true; at += 1) {
    const [arg = '', next = ''] = args.slice(at);
    const replaced = /^(?:-I|-i|--replace=?)(.*)$/.exec(arg)?.[1];
    if (replaced !== undefined) placeholder = replaced || (arg === '-I' ? next : '{}');
    if (VALUED.test(arg)) at += 1;
  }
  const mark = placeholder ?? '{}';
  const separator = args.findIndex((arg) => arg.startsWith(':::'));
  const command = args.slice(at, separator < 0 ? undefined : separator);
  const given = separator < 0 ? scope.stdin.split(/[\s\0]+/).filter(Boolean) : args.slice(separator + 1);
  const trace = scope.stdin.includes(DECODED) ? DECODED : '';
  const items = given.slice(0, MOST_ITEMS).map((item) => trace + item);
  const inner = descend(scope, { stdin: '' });
  const isEach = placeholder !== undefined || command.some((word) => word.includes(mark));
  const each = items.map((item) => command.map((word) => word.replaceAll(mark, () => item)));
  for (const argv of isEach ? each : [[...command, ...items]]) runSimple(argv, inner);
  return UNKNOWN;
}

const NARROWS =
  /^-(?:i?name|i?path|wholename|i?regex|newer|[mca]time|[mca]min|size|empty|inum|samefile|lname|user|group|perm|links)$/;
const MOST_ROOTS = 50;

function runFind(args: readonly string[], scope: Scope): string {
  const start = args.findIndex((arg) => /^(?:-(?![HLPOD])|[(!])/.test(arg));
  const expression = start < 0 ? [] : args.slice(start);
  const named = args.slice(0, start < 0 ? undefined : start).filter((arg) => !arg.startsWith('-'));
  const roots = named.length === 0 ? ['.'] : named;
  // A condition narrows the search, unless it matches every file or is joined to another with `-o`.
  const isNarrowed =
    !expression.some((word) => /^(?:-o|-or|,)$/.test(word)) &&
    expression.some(
      (word, i) =>
        NARROWS.test(word) &&
        !/^(?:!|-not)$/.test(expression[i - 1] ?? '') &&
        !/^[*.?]+$/.test(asCode(expression[i + 1] ?? '')),
    );
  const lost = expression.includes('-delete') && !isNarrowed ? reasonIfLost(roots, scope.directories) : undefined;
  refuseIf(lost === undefined ? undefined : `it would delete ${lost}`);
  const found = isNarrowed ? roots.map((root) => `${root}/${UNKNOWN}/${UNKNOWN}/${UNKNOWN}`) : roots;
  let at = 0;
  for (const [i, word] of expression.entries()) {
    if (i < at || !/^-(?:exec|ok)(?:dir)?$/.test(word)) continue;
    const end = expression.findIndex((arg, n) => n > i && /^[;+]$/.test(arg));
    at = end < 0 ? expression.length : end;
    const command = expression.slice(i + 1, at);
    const each = found.slice(0, MOST_ROOTS).map((root) => command.map((arg) => arg.replaceAll('{}', () => root)));
    for (const argv of each) runSimple(argv, descend(scope));
  }
  return `${found.join('\n')}\n`;
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(Boolean).slice(0, 16);
}

function refuseIf(reason: string | undefined): void {
  if (reason !== undefined) throw new Refusal(reason);
}

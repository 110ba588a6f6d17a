import {
  forEachChild,
  parse,
  type Command,
  type Function as FunctionNode,
  type ParsedScript,
  type Redirection,
  type SyntaxNode,
} from 'unbash';
import { posix } from 'node:path';
import { isPossible, type CommandPlace, type Concern } from './commands/ask/concern.ts';
import { closedHost } from './commands/ask/hosts.ts';
import { deviceHost } from './commands/ask/network.ts';
import { redirectConcerns } from './commands/ask/places.ts';
import { forkBomb, startsWithoutEnd } from './commands/fork-bomb.ts';
import { expandArguments, expandAssignment, expandHereDoc, expandWord } from './commands/expand.ts';
import { SPLIT, UNKNOWN, withoutMarks } from './commands/marks.ts';
import {
  ANY_OUTPUT,
  assign,
  descend,
  fork,
  newScope,
  NO_OUTPUT,
  note,
  Refusal,
  step,
  type Output,
  type Scope,
} from './commands/scope.ts';
import { runSimple, type Engine } from './commands/simple.ts';
import { isRawDevice } from './commands/targets.ts';

export type CommandDecision =
  | { readonly decision: 'allow' }
  | { readonly decision: 'ask'; /** One sentence. */ readonly reason: string }
  | { readonly decision: 'deny'; /** One sentence. */ readonly reason: string };

/**
 * Decides about a shell command, in every mode, however it is wrapped. It parses the command and follows what can be
 * known (variables, substitutions, nested shells, here-documents, pipes).
 *
 * Denied is the plainly destructive: deleting the system or a home, making file systems, writing over devices, stopping
 * the machine, fork bombs, decoded data run as commands; and what cannot be parsed.
 *
 * Asked about is what reaches beyond the folder it runs in, as far as its `place` lets it:
 * - where there is a network: private, loopback, link-local and metadata hosts named as a target (as a URL, an address
 *   in any spelling, a proxy, in a script's code); publishing a package, image, release or gist; overwriting or deleting
 *   on a git remote;
 * - where nothing encloses it: another user's rights; mounts, modules, firewall, accounts, set-id programs; what runs
 *   later or by itself (cron, units, start-up files, authorized keys, git settings that run programs); the assistant's
 *   own service, command line and state; ending processes by name or number; rights of whole folders outside the
 *   workspace; containers that are given the machine; local sockets and `ssh -R`; running what a server sends.
 *
 * It is a net under honest mistakes and crude attacks, not a sandbox: a program that was not written in this command
 * can still do anything, and a public name may lead to a private address.
 */
export function guardCommand(command: string, place: CommandPlace = {}): CommandDecision {
  try {
    if (command.length > LONGEST_COMMAND) {
      throw new Refusal(`it is longer than ${LONGEST_COMMAND} characters; write what is long to a file and name that`);
    }
    const scope = newScope(place);
    engine.runCode(withoutMarks(command), scope);
    const bomb = forkBomb(scope.shared.functions);
    if (bomb !== undefined) throw new Refusal(`the function \`${bomb}\` is a fork bomb`);
    const reach = place.reach ?? 'anywhere';
    const reasons = [...scope.shared.concerns.values()].filter((concern) => isPossible(concern, reach));
    return reasons.length === 0 ? { decision: 'allow' } : { decision: 'ask', reason: sentenceOf(reasons) };
  } catch (error) {
    const reason = error instanceof Refusal ? error.message : 'it could not be checked';
    return { decision: 'deny', reason: `This command is refused in every mode: ${reason}.` };
  }
}

/** What is longer takes too long to be read on the event loop. */
const LONGEST_COMMAND = 20_000;
const MOST_REASONS = 3;

function sentenceOf(concerns: readonly Concern[]): string {
  const shown = concerns.slice(0, MOST_REASONS).map(({ reason }) => reason);
  const more = concerns.length > MOST_REASONS ? `, and ${concerns.length - MOST_REASONS} more` : '';
  return `This needs a yes in every mode: ${shown.join('; ')}${more}.`;
}

const engine: Engine = {
  runCode(code, scope) {
    const script = parse(code);
    return runScript(script, scope);
  },
  callFunction(name, args, scope) {
    const { functions, active } = scope.shared;
    const found = functions.get(name);
    if (found === undefined) return undefined;
    if (active.has(name)) return ANY_OUTPUT;
    const { positional } = scope;
    active.add(name);
    scope.positional = args;
    try {
      return runNode(found.body, scope);
    } finally {
      scope.positional = positional;
      active.delete(name);
    }
  },
  substitution(index, scope) {
    const found = scope.shared.substitutions[index];
    return found === undefined ? ANY_OUTPUT : runNested(found.script, scope);
  },
};

function runScript(script: ParsedScript, scope: Scope): Output {
  const [error] = script.errors ?? [];
  if (error !== undefined) throw new Refusal(`it cannot be parsed (${error.message})`);
  if (startsWithoutEnd(script))
    throw new Refusal('it is a fork bomb: it starts more and more processes without an end');
  const output = runNode(script, scope);
  runForgotten(script, scope);
  return output;
}

function runNested(script: ParsedScript | undefined, scope: Scope): Output {
  if (script === undefined) return ANY_OUTPUT;
  scope.shared.seen.add(script);
  return runScript(script, descend(scope));
}

/** Substitutions in places that nothing above evaluates: arithmetic, tests, patterns. */
function runForgotten(node: SyntaxNode, scope: Scope): void {
  step(scope);
  if (
    node.type === 'ArithmeticCommandExpansion' ||
    node.type === 'CommandExpansion' ||
    node.type === 'ProcessSubstitution'
  ) {
    if (node.script === undefined || scope.shared.seen.has(node.script)) return;
    runNested(node.script, fork(scope, { conditional: true, stdin: ANY_OUTPUT }));
    return;
  }
  forEachChild(node, (child) => runForgotten(child, scope));
}

/** Runs a node as far as it can be known. Throws a `Refusal` at the first thing that must not run. */
function runNode(node: SyntaxNode, scope: Scope): Output {
  step(scope);
  switch (node.type) {
    case 'Script':
    case 'CompoundList':
      return joined(node.commands.map((statement) => runNode(statement, scope)));
    case 'Statement':
      return runNode(node.command, scope);
    case 'AndOr':
      return joined(node.commands.map((command, i) => (i === 0 ? runNode(command, scope) : maybe(command, scope))));
    case 'Pipeline': {
      let stdin = scope.stdin;
      for (const command of node.commands) stdin = runNode(command, fork(scope, { stdin }));
      return stdin;
    }
    case 'Command':
      return runCommand(node, scope);
    case 'Redirected':
      return redirected(node.redirects, scope, () => runNode(node.command, scope));
    case 'Subshell':
      return runNode(node.body, fork(scope));
    case 'BraceGroup':
      return runNode(node.body, scope);
    case 'Coproc':
      return runNode(node.body, fork(scope, { stdin: ANY_OUTPUT }));
    case 'Function':
      return defineFunction(node, scope);
    case 'If': {
      runNode(node.clause, scope);
      const otherwise = node.else === undefined ? [] : [node.else];
      const branches = [node.then, ...node.elif.flatMap((elif) => [elif.clause, elif.then]), ...otherwise];
      return joined(branches.map((branch) => maybe(branch, scope)));
    }
    case 'For':
    case 'Select': {
      const words = node.wordlist
        ?.flatMap((word) => expandWord(word, scope, runNested))
        .flatMap((text) => text.split(SPLIT));
      assign(scope, node.name.value, words ?? scope.positional ?? [UNKNOWN]);
      return loop(node.body, scope);
    }
    case 'ArithmeticFor':
      return loop(node.body, scope);
    case 'While':
      runNode(node.clause, scope);
      return loop(node.body, scope);
    case 'Case':
      return joined(node.items.map((item) => maybe(item.body, scope)));
    default:
      return NO_OUTPUT;
  }
}

/** What may run or not: its assignments come beside the old values. */
function maybe(node: SyntaxNode, scope: Scope): Output {
  const before = scope.conditional;
  scope.conditional = true;
  try {
    return runNode(node, scope);
  } finally {
    scope.conditional = before;
  }
}

/** Twice, so that what the first round assigns is seen by the second. */
function loop(body: SyntaxNode, scope: Scope): Output {
  maybe(body, scope);
  maybe(body, scope);
  return ANY_OUTPUT;
}

function defineFunction(node: FunctionNode, scope: Scope): Output {
  scope.shared.functions.set(node.name.value, node);
  if (scope.shared.active.has(node.name.value)) return NO_OUTPUT;
  scope.shared.active.add(node.name.value);
  runNode(node.body, descend(scope, { positional: undefined, conditional: true, stdin: ANY_OUTPUT }));
  scope.shared.active.delete(node.name.value);
  return NO_OUTPUT;
}

function runCommand(node: Command, scope: Scope): Output {
  const temporary = node.name !== undefined;
  for (const item of node.prefix) {
    if (item.type !== 'Assignment') continue;
    const values = expandAssignment(item, scope, runNested);
    assign(temporary ? { ...scope, conditional: true } : scope, item.name, values);
  }
  return redirected(node.redirects, scope, () => {
    if (node.name === undefined) return NO_OUTPUT;
    const variants = expandArguments([node.name, ...node.args], scope, runNested);
    const [output = NO_OUTPUT] = variants.map((argv) => runSimple(argv, scope, engine));
    return output;
  });
}

function redirected(redirects: readonly Redirection[], scope: Scope, work: () => Output): Output {
  const { stdin, written } = redirect(redirects, scope);
  const before = scope.stdin;
  scope.stdin = stdin ?? before;
  const output = work();
  scope.stdin = before;
  const { files } = scope.shared;
  for (const { path, append } of written)
    files.set(path, joined(append ? [files.get(path) ?? NO_OUTPUT, output] : [output]));
  return written.length > 0 ? NO_OUTPUT : output;
}

interface Written {
  readonly path: string;
  readonly append: boolean;
}

/** Each is looked at as a place. */
const REDIRECT_STEPS = 10;
const WRITES = new Set(['>', '>>', '>|', '&>', '&>>', '<>', '>&']);

/** Where input comes from, and which files are written. */
function redirect(redirects: readonly Redirection[], scope: Scope): { stdin: Output | undefined; written: Written[] } {
  let stdin: Output | undefined;
  const written: Written[] = [];
  step(scope, redirects.length * REDIRECT_STEPS);
  for (const item of redirects) {
    if (item.type === 'HereDoc') {
      const text = item.delimiter?.quoted === true ? item.body.text : expandHereDoc(item.body, scope, runNested);
      stdin = { text, decoded: false };
      continue;
    }
    const targets = item.target === undefined ? [] : expandWord(item.target, scope, runNested);
    if (item.type !== 'HereString') noteRedirect(targets, WRITES.has(item.operator), scope);
    if (item.type === 'HereString') {
      stdin = { text: `${targets[0] ?? ''}\n`, decoded: false };
    } else if (item.operator === '<') {
      stdin = sourceOf(targets[0] ?? '', scope);
    } else if (WRITES.has(item.operator)) {
      for (const target of targets) {
        if (scope.directories.some((directory) => isRawDevice(target, directory))) {
          throw new Refusal(`it would write over the device ${target}`);
        }
        if (item.descriptor !== undefined) continue;
        const append = item.operator.endsWith('>>');
        written.push(...scope.directories.map((directory) => ({ path: posix.resolve(directory, target), append })));
      }
    }
  }
  return { stdin, written };
}

function noteRedirect(targets: readonly string[], writes: boolean, scope: Scope): void {
  const { place } = scope.shared;
  for (const target of targets) {
    const device = deviceHost(target);
    const host = device === undefined ? undefined : closedHost(device, place.opened);
    if (host !== undefined) note(scope, [{ reason: `it names ${host}`, needs: 'network' }]);
    for (const directory of scope.directories)
      note(scope, redirectConcerns(posix.resolve(directory, target), writes, place));
  }
}

function sourceOf(target: string, scope: Scope): Output {
  const substitution = /^\uE005(\d+)\uE005$/.exec(target);
  if (substitution !== null) return engine.substitution(Number(substitution[1]), scope);
  const [directory = '/'] = scope.directories;
  return scope.shared.files.get(posix.resolve(directory, target)) ?? ANY_OUTPUT;
}

function joined(outputs: readonly Output[]): Output {
  const known = outputs.every((output) => output.text !== undefined);
  return {
    text: known ? outputs.map((output) => output.text).join('') : undefined,
    decoded: outputs.some((output) => output.decoded),
    fetched: outputs.some((output) => output.fetched === true),
  };
}

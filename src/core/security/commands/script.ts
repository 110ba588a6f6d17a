import { posix } from 'node:path';
import {
  forEachChild,
  type Command,
  type CompoundList,
  type ParsedScript,
  type Redirection,
  type SyntaxNode,
} from 'unbash';
import { expandArguments, expandAssignment, expandHereDoc, expandWord } from './expand.ts';
import { writtenTo } from './code.ts';
import { deviceHost, noteHosts } from './hosts.ts';
import { isUnknown, SPLIT, tracesOf, UNKNOWN } from './placeholders.ts';
import { judgePaths } from './places.ts';
import { assign, descend, fork, Refusal, step, type Scope } from './scope.ts';
import { callFunction, runSimple } from './simple.ts';
import { valuesOf } from './parameters.ts';

/**
 * Runs a node as far as it can be known, and returns what it writes. Throws a `Refusal` at the first thing that must not
 * run.
 */
export function runNode(node: SyntaxNode, scope: Scope): string {
  step(scope);
  switch (node.type) {
    case 'Script':
      return runScript(node, scope);
    case 'CompoundList':
      return joined(node.commands.map((statement) => runNode(statement, scope)));
    case 'Statement': {
      if (node.background !== true) return runNode(node.command, scope);
      scope.shared.started += 1;
      return runNode(node.command, { ...scope, beside: scope.beside + 1 });
    }
    case 'AndOr':
      return joined(node.commands.map((command, i) => (i === 0 ? runNode(command, scope) : maybe(command, scope))));
    case 'Pipeline': {
      const copies = node.commands.filter((command) => isCopy(command, scope));
      const beside = scope.beside + (copies.length > 1 ? 1 : 0);
      return node.commands.reduce((stdin, command) => runNode(command, fork(scope, { stdin, beside })), scope.stdin);
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
      return runNode(node.body, fork(scope, { stdin: UNKNOWN }));
    case 'Function': {
      scope.shared.functions.set(node.name.value, node);
      // Also one that nothing seems to call, with arguments that no one knows.
      callFunction(node.name.value, UNKNOWN, descend(scope, { conditional: true, stdin: UNKNOWN }));
      return '';
    }
    case 'If': {
      runNode(node.clause, scope);
      const branches = [node.then, ...node.elif.flatMap((elif) => [elif.clause, elif.then]), node.else];
      return joined(branches.map((branch) => (branch === undefined ? '' : maybe(branch, scope))));
    }
    case 'For':
    case 'Select': {
      const words = node.wordlist?.flatMap((word) => expandWord(word, scope)) ?? valuesOf('@', scope);
      assign(
        scope,
        node.name.value,
        words.flatMap((text) => text.split(SPLIT)),
      );
      return loop(node.body, scope);
    }
    case 'ArithmeticFor':
      return loop(node.body, scope, node.test === undefined);
    case 'While': {
      const { held } = scope.shared;
      runNode(node.clause, scope);
      return loop(node.body, scope, node.kind === 'while' && held === scope.shared.held && isAlways(node.clause));
    }
    case 'Case':
      return joined(node.items.map((item) => maybe(item.body, scope)));
    default:
      return '';
  }
}

function runScript(script: ParsedScript, scope: Scope): string {
  scope.shared.seen.add(script);
  const [error] = script.errors ?? [];
  if (error !== undefined) throw new Refusal(`it cannot be parsed (${error.message})`);
  scope.beside = 0;
  scope.itself = { commands: new Set(), beside: false };
  const output = joined(script.commands.map((statement) => runNode(statement, scope)));
  forEachChild(script, (child) => runForgotten(child, scope));
  return output;
}

/** Substitutions in places that nothing above evaluates: arithmetic, tests, patterns. */
function runForgotten(node: SyntaxNode, scope: Scope): void {
  step(scope);
  const isSubstitution =
    node.type === 'ArithmeticCommandExpansion' ||
    node.type === 'CommandExpansion' ||
    node.type === 'ProcessSubstitution';
  if (!isSubstitution) return forEachChild(node, (child) => runForgotten(child, scope));
  if (node.script === undefined || scope.shared.seen.has(node.script)) return;
  runNode(node.script, descend(scope, { conditional: true, stdin: UNKNOWN }));
}

/** What may run or not: its assignments come beside the old values. */
function maybe(node: SyntaxNode, scope: Scope): string {
  const before = scope.conditional;
  scope.conditional = true;
  const output = runNode(node, scope);
  scope.conditional = before;
  return output;
}

/** Twice, so that what the first round assigns is seen by the second. */
function loop(body: SyntaxNode, scope: Scope, isEndless = false): string {
  const { started, held } = scope.shared;
  maybe(body, scope);
  maybe(body, scope);
  if (isEndless && scope.shared.started > started && scope.shared.held === held) throw new Refusal(ENDLESS);
  return UNKNOWN;
}

const ENDLESS = 'it is a fork bomb: it starts more and more processes without an end';

function isAlways({ commands }: CompoundList): boolean {
  return commands.some(({ command }) => command.type === 'Command' && /^(?:true|:)$/u.test(command.name?.value ?? ''));
}

const ITSELF = /^["']?\$\{?(?:0|BASH_SOURCE)(?!\w)/u;

/** Whether a command names the script itself. */
function isItself({ name, args }: Command): boolean {
  return [name, ...args].some((word) => ITSELF.test(word?.text ?? ''));
}

/** Whether a part of a pipe is what the script or one of its functions does already. */
function isCopy(node: SyntaxNode, { shared }: Scope): boolean {
  return node.type === 'Command' && (shared.functions.has(node.name?.value ?? '') || isItself(node));
}

function runCommand(node: Command, scope: Scope): string {
  const { name } = node;
  const { itself } = scope;
  if (isItself(node)) {
    itself.commands.add(node);
    itself.beside ||= scope.beside > 0;
    if (itself.beside && itself.commands.size > 1) throw new Refusal(ENDLESS);
  }
  for (const item of node.prefix) {
    if (item.type !== 'Assignment') continue;
    // Before a command it holds for that alone.
    assign(name === undefined ? scope : { ...scope, conditional: true }, item.name, expandAssignment(item, scope));
  }
  return redirected(node.redirects, scope, () => {
    if (name === undefined) return '';
    const outputs = expandArguments([name, ...node.args], scope).map((argv) => runSimple(argv, scope));
    return outputs[0] ?? '';
  });
}

function redirected(redirects: readonly Redirection[], scope: Scope, work: () => string): string {
  const before = scope.stdin;
  const written = redirect(redirects, scope);
  const output = work();
  scope.stdin = before;
  const { files } = scope.shared;
  for (const { path, append } of written) files.set(path, joined([append ? (files.get(path) ?? '') : '', output]));
  return written.length > 0 ? '' : output;
}

interface Written {
  readonly path: string;
  readonly append: boolean;
}

/** Each is looked at as a place. */
const REDIRECT_STEPS = 10;
const WRITES = new Set(['>', '>>', '>|', '&>', '&>>', '<>', '>&']);

/** Sets where input comes from, and tells which files are written. */
function redirect(redirects: readonly Redirection[], scope: Scope): Written[] {
  const written: Written[] = [];
  step(scope, redirects.length * REDIRECT_STEPS);
  for (const item of redirects) {
    if (item.type === 'HereDoc') {
      scope.stdin = item.delimiter?.quoted === true ? item.body.text : expandHereDoc(item.body, scope);
      continue;
    }
    const targets = item.target === undefined ? [] : expandWord(item.target, scope);
    if (item.type === 'HereString') {
      scope.stdin = `${targets[0] ?? ''}\n`;
      continue;
    }
    const writes = WRITES.has(item.operator);
    const paths = targets.flatMap((target) => scope.directories.map((directory) => posix.resolve(directory, target)));
    noteHosts(targets.flatMap(deviceHost), scope);
    judgePaths(paths, writes ? paths : [], scope, 'it');
    if (item.operator === '<') scope.stdin = writtenTo(targets[0] ?? '', scope)[0] ?? UNKNOWN;
    if (writes && item.descriptor === undefined)
      written.push(...paths.map((path) => ({ path, append: item.operator.endsWith('>>') })));
  }
  return written;
}

/** What several write after each other. */
function joined(outputs: readonly string[]): string {
  const all = outputs.join('');
  return outputs.some(isUnknown) ? tracesOf(all) + UNKNOWN : all;
}

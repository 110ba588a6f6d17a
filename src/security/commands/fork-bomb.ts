import { forEachChild, type Function as FunctionNode, type SyntaxNode } from 'unbash';

interface Calls {
  /** Functions it calls. */
  readonly all: Set<string>;
  /** Those it calls in the background, or more than one at a time. */
  readonly forking: Set<string>;
}

/** The name of a function that starts more and more copies of itself, directly or through others. */
export function forkBomb(functions: ReadonlyMap<string, FunctionNode>): string | undefined {
  const calls = new Map<string, Calls>();
  for (const [name, node] of functions) {
    const found: Calls = { all: new Set(), forking: new Set() };
    collect(node.body, false, found, functions);
    calls.set(name, found);
  }
  for (const [name, { forking }] of calls) {
    if ([...forking].some((callee) => reaches(callee, name, calls, new Set()))) return name;
  }
  return undefined;
}

function collect(node: SyntaxNode, forking: boolean, found: Calls, functions: ReadonlyMap<string, FunctionNode>): void {
  if (node.type === 'Command' && node.name !== undefined && functions.has(node.name.value)) {
    found.all.add(node.name.value);
    if (forking) found.forking.add(node.name.value);
  }
  const forks = forking || (node.type === 'Statement' && node.background === true) || pipesCopies(node, functions);
  forEachChild(node, (child) => collect(child, forks, found, functions));
}

function pipesCopies(node: SyntaxNode, functions: ReadonlyMap<string, FunctionNode>): boolean {
  if (node.type !== 'Pipeline') return false;
  return (
    node.commands.filter((command) => command.type === 'Command' && functions.has(command.name?.value ?? '')).length > 1
  );
}

function reaches(from: string, to: string, calls: ReadonlyMap<string, Calls>, seen: Set<string>): boolean {
  if (from === to) return true;
  if (seen.has(from)) return false;
  seen.add(from);
  return [...(calls.get(from)?.all ?? [])].some((callee) => reaches(callee, to, calls, seen));
}

const ALWAYS = new Set(['true', ':']);
/** What keeps a loop from starting ever more. */
const HOLDS = new Set(['wait', 'sleep', 'break', 'exit', 'return', 'read']);
const ITSELF = /\$\{?(?:0|BASH_SOURCE)(?!\w)/u;

/** Whether a script starts more and more beside itself: an endless loop that waits for nothing, or itself twice. */
export function startsWithoutEnd(script: SyntaxNode): boolean {
  const found = { endless: false, itself: 0, beside: false };
  look(script, false, found);
  return found.endless || (found.itself > 1 && found.beside);
}

function look(node: SyntaxNode, beside: boolean, found: { endless: boolean; itself: number; beside: boolean }): void {
  const apart = beside || inBackground(node) || node.type === 'Pipeline';
  if (
    node.type === 'Command' &&
    [node.name, ...node.args].some((word) => word !== undefined && runsItself(word.text))
  ) {
    found.itself += 1;
    found.beside ||= apart;
  }
  const isEndless =
    node.type === 'ArithmeticFor' ? node.test === undefined : node.type === 'While' && isAlways(node.kind, node.clause);
  if (isEndless && some(node, inBackground) && !some(node, holds)) found.endless = true;
  forEachChild(node, (child) => look(child, apart, found));
}

/** Whether the word is the script itself, or code for a shell that runs it. */
function runsItself(text: string): boolean {
  return ITSELF.test(text) && /^["']?\$/u.test(text);
}

function isAlways(kind: string, clause: SyntaxNode): boolean {
  return kind === 'while' && some(clause, (node) => node.type === 'Command' && ALWAYS.has(node.name?.value ?? ''));
}

function inBackground(node: SyntaxNode): boolean {
  return node.type === 'Statement' && node.background === true;
}

function holds(node: SyntaxNode): boolean {
  return node.type === 'Command' && HOLDS.has(node.name?.value ?? '');
}

function some(node: SyntaxNode, is: (node: SyntaxNode) => boolean): boolean {
  if (is(node)) return true;
  let found = false;
  forEachChild(node, (child) => (found ||= some(child, is)));
  return found;
}

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

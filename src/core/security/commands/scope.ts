import type { CommandPlace } from './guard.ts';
import type { Function as FunctionNode, ParsedScript, ProcessSubstitutionPart, SyntaxNode } from 'unbash';
import { UNKNOWN } from './placeholders.ts';
import { START } from './targets.ts';

/** What must be there for a thing to happen, so that a person has to be asked about it. */
export type CommandRisk = 'network' | 'outside';

/** One simple command, its words expanded. */
export interface Simple {
  readonly name: string;
  readonly args: readonly string[];
  /** Where it may stand. */
  readonly directories: readonly string[];
}

/** The command is refused; caught by `guardCommand`. */
export class Refusal extends Error {}

/** What all parts of one judged command share. */
interface Shared {
  steps: number;
  /** A file was sourced: variables may have values that no one saw. */
  sourced: boolean;
  readonly functions: Map<string, FunctionNode>;
  /** Functions that are being looked at, and how much `beside` they began: a call to one is not followed again. */
  readonly active: Map<FunctionNode, number>;
  /** How many commands were started in the background, and how many hold a script up (`sleep`, `wait`). */
  started: number;
  held: number;
  /** Substitutions that were looked at. */
  readonly seen: WeakSet<ParsedScript>;
  readonly substitutions: ProcessSubstitutionPart[];
  /** What the command itself wrote into files. */
  readonly files: Map<string, string>;
  readonly place: CommandPlace;
  /**
   * Clauses about the command that a person should know of (`it names 10.0.0.1, which is a private address`), with what
   * they need.
   */
  readonly risks: Map<string, CommandRisk>;
  /** Runs a node as far as it can be known, and returns what it writes. */
  readonly run: (node: SyntaxNode, scope: Scope) => string;
}

/** Variables, position and input at one point of a script. */
export interface Scope {
  readonly shared: Shared;
  /** Values that each may have; `@` holds the arguments, joined by SPLIT. */
  readonly variables: Map<string, readonly string[]>;
  /** Where it may stand. */
  directories: readonly string[];
  /** Inside something that may not run: values are added, not replaced. */
  conditional: boolean;
  stdin: string;
  readonly depth: number;
  /** How many times it runs beside its script: in the background, or with its like in a pipe. */
  beside: number;
  /** Commands that name their script itself, and whether one of them runs beside others. */
  itself: { readonly commands: Set<SyntaxNode>; beside: boolean };
}

/** Counts the work, so that a hostile command cannot keep the guard busy. */
const MOST_STEPS = 8_000;
const DEEPEST = 24;
const MOST_VALUES = 16;
/** Longer lists are for a file, or a pattern. */
const MOST_WORDS = 2_000;

export function newScope(place: CommandPlace, run: Shared['run']): Scope {
  const shared = {
    steps: 0,
    sourced: false,
    functions: new Map(),
    active: new Map<FunctionNode, number>(),
    started: 0,
    held: 0,
    seen: new WeakSet<ParsedScript>(),
    substitutions: [],
    files: new Map(),
    place,
    risks: new Map<string, CommandRisk>(),
    run,
  };
  const variables = new Map([['@', ['']]]);
  const itself = { commands: new Set<SyntaxNode>(), beside: false };
  return { shared, variables, directories: [START], conditional: false, stdin: UNKNOWN, depth: 0, beside: 0, itself };
}

/** A copy whose changes stay in it: a subshell, a function, a nested script. */
export function fork(scope: Scope, changes: Partial<Scope> = {}): Scope {
  return { ...scope, variables: new Map(scope.variables), ...changes };
}

/** The same for a script inside the script. Refuses to go deeper than anybody writes by hand. */
export function descend(scope: Scope, changes: Partial<Scope> = {}): Scope {
  if (scope.depth >= DEEPEST) throw new Refusal('it is nested too deep to be checked');
  return fork(scope, { ...changes, depth: scope.depth + 1 });
}

export function step(scope: Scope, cost = 1): void {
  scope.shared.steps += cost;
  if (scope.shared.steps > MOST_STEPS) throw new Refusal('it is too long or too twisted to be checked');
}

export function countWords({ length }: readonly unknown[]): void {
  if (length > MOST_WORDS) throw new Refusal(`one of its commands has more than ${MOST_WORDS} words`);
}

/** Keeps what a person should know of. */
export function noteRisk(scope: Scope, needs: CommandRisk, ...reasons: readonly string[]): void {
  for (const reason of reasons) scope.shared.risks.set(reason, needs);
}

export function assign(scope: Scope, name: string, values: readonly string[]): void {
  const before = scope.conditional ? (scope.variables.get(name) ?? ['']) : [];
  scope.variables.set(name, [...new Set([...before, ...values])].slice(-MOST_VALUES));
}

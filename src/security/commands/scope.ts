import type { Function as FunctionNode, ParsedScript, ProcessSubstitutionPart } from 'unbash';
import type { CommandPlace, Concern } from './ask/concern.ts';
import { START } from './targets.ts';

/** What a command writes, as far as it can be known. */
export interface Output {
  /** Undefined: nobody can know. */
  readonly text: string | undefined;
  /** It went through a decoder (base64, xxd, …), so its source tells nothing. */
  readonly decoded: boolean;
  /** It came from a server. @default false */
  readonly fetched?: boolean;
}

export const NO_OUTPUT: Output = { text: '', decoded: false };
export const ANY_OUTPUT: Output = { text: undefined, decoded: false };

/** The command is refused; caught by `guardCommand`. */
export class Refusal extends Error {}

/** What all parts of one judged command share. */
interface Shared {
  steps: number;
  /** A file was sourced: variables may have values that nobody saw. */
  sourced: boolean;
  readonly functions: Map<string, FunctionNode>;
  /** Functions that are being looked at: a call to one of them is not followed again. */
  readonly active: Set<string>;
  /** Substitutions that were looked at. */
  readonly seen: WeakSet<ParsedScript>;
  readonly substitutions: ProcessSubstitutionPart[];
  /** What the command itself wrote into files. */
  readonly files: Map<string, Output>;
  readonly place: CommandPlace;
  /** What a person should know of, by its reason. */
  readonly concerns: Map<string, Concern>;
}

/** Variables, position and input at one point of a script. */
export interface Scope {
  readonly shared: Shared;
  readonly variables: Map<string, readonly string[]>;
  /** `$1 …`; undefined: unknown. */
  positional: readonly string[] | undefined;
  /** Where it may stand. */
  directories: readonly string[];
  /** Inside something that may not run: values are added, not replaced. */
  conditional: boolean;
  stdin: Output;
  depth: number;
}

const MOST_STEPS = 8_000;
const DEEPEST = 24;
const MOST_VALUES = 16;

export function newScope(place: CommandPlace): Scope {
  const shared = {
    steps: 0,
    sourced: false,
    functions: new Map(),
    active: new Set<string>(),
    seen: new WeakSet<ParsedScript>(),
    substitutions: [],
    files: new Map(),
    place,
    concerns: new Map(),
  };
  return {
    shared,
    variables: new Map(),
    positional: [],
    directories: [START],
    conditional: false,
    stdin: ANY_OUTPUT,
    depth: 0,
  };
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

/** Counts the work, so that a hostile command cannot keep the guard busy. */
export function step(scope: Scope, cost = 1): void {
  scope.shared.steps += cost;
  if (scope.shared.steps > MOST_STEPS) throw new Refusal('it is too long or too twisted to be checked');
}

/** Longer lists are for a file, or a pattern. */
const MOST_WORDS = 2_000;

export function countWords({ length }: readonly unknown[]): void {
  if (length > MOST_WORDS) throw new Refusal(`one of its commands has more than ${MOST_WORDS} words`);
}

export function note(scope: Scope, concerns: readonly Concern[]): void {
  for (const concern of concerns) scope.shared.concerns.set(concern.reason, concern);
}

export function assign(scope: Scope, name: string, values: readonly string[]): void {
  const before = scope.conditional ? (scope.variables.get(name) ?? ['']) : [];
  scope.variables.set(name, [...new Set([...before, ...values])].slice(-MOST_VALUES));
}

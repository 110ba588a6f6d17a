import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXCLUDED } from './generated/excluded.ts';
import { OPERATORS, type Change } from './generated/operators.ts';
import { scopeOf, WIDELY } from './generated/scopes.ts';
import { nodesOf, textOf } from './generated/syntax.ts';
import { WIDE_OPERATORS } from './generated/wide-operators.ts';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
/** Of what is changed, in a name. */
const LONGEST_TEXT = 70;

/** A file without one of its guards. */
export interface Mutant {
  readonly name: string;
  /** Below `src`. */
  readonly file: string;
  readonly change: Change;
  /** What was lost, for people. */
  readonly holds: string;
  /** Below `test`: one of them has to fail. */
  readonly tests: readonly string[];
}

/** A mutant that an operator made of a file. */
export interface Generated extends Mutant {
  readonly operator: string;
}

/** What the operators make of all that is looked at for guards, file by file, also what no test can kill. */
export const FOUND: readonly Generated[] = globSync('**/*.ts', { cwd: SRC })
  .toSorted()
  .flatMap((file) => mutantsOf(file, sourceOf(file)));

/** Those that a test has to kill. */
export const GENERATED: readonly Generated[] = FOUND.filter(({ name }) => EXCLUDED[name] === undefined);

/**
 * Names are of the file, what the change is within, the operator and the text that is changed, so that they stay when
 * other lines move: `core/security/access/access.ts closedBecause never allowed === undefined`. Equal ones are numbered.
 */
function mutantsOf(file: string, text: string): readonly Generated[] {
  const scope = scopeOf(file);
  if (scope === undefined) return [];
  const wide = WIDELY[file]?.split(' ') ?? [];
  const isWanted = (name: string, within: string): boolean => wide.includes(name) || wide.includes(`${name}@${within}`);
  const seen = new Map<string, number>();
  const made = new Set<string>();
  const mutants: Generated[] = [];
  for (const place of nodesOf(text)) {
    const widely = WIDE_OPERATORS.filter(({ name }) => isWanted(name, place.within));
    for (const { name: operator, does, changes } of [...OPERATORS, ...widely]) {
      for (const change of changes(place, text, scope.every)) {
        const exact = `${change.start} ${change.end} ${change.by}`;
        if (made.has(exact)) continue;
        made.add(exact);
        const said = textOf(change, text).replaceAll(/\s+/gu, ' ').trim().slice(0, LONGEST_TEXT);
        const plain = `${file} ${place.within} ${operator} ${said}`;
        const count = (seen.get(plain) ?? 0) + 1;
        seen.set(plain, count);
        const name = count === 1 ? plain : `${plain} #${count}`;
        mutants.push({ name, file, change, holds: does, tests: scope.tests, operator });
      }
    }
  }
  return mutants;
}

/** The text of a mutant's file without the guard. */
export function without(text: string, { change }: Mutant): string {
  return text.slice(0, change.start) + change.by + text.slice(change.end);
}

/** Of a file below `src`. */
export function sourceOf(file: string): string {
  return readFileSync(join(SRC, file), 'utf8');
}

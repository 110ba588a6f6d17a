import { existsSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { EXCLUDED } from './generated/excluded.ts';
import { SCOPES } from './generated/scopes.ts';
import { FOUND, GENERATED, sourceOf, without, type Mutant } from './mutants.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Why a text is no program. */
function problemOf(text: string): string | undefined {
  try {
    stripTypeScriptTypes(text);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

test('the tests of each guard are fast ones that exist', () => {
  const files = SCOPES.flatMap(({ tests }) => tests);
  const odd = files.filter((file) => !/(?<!\.long)\.test\.ts$/u.test(file) || !existsSync(join(ROOT, 'test', file)));
  expect(odd).toEqual([]);
});

test('whatever an operator changes, its file is still a program, and another one', () => {
  const problems = [...Map.groupBy(GENERATED, ({ file }) => file)].flatMap(([file, mutants]) => {
    const text = sourceOf(file);
    const same = mutants
      .filter((mutant) => without(text, mutant) === text)
      .map(({ name }) => `${name}: nothing changes`);
    return [...same, ...apart(mutants).map((some) => problemOf(withoutAll(text, some)) ?? '')].filter(Boolean);
  });
  expect(problems).toEqual([]);
});

test('every file and folder that is looked at for guards is there and has some, every exclusion leaves something out', () => {
  const idle = SCOPES.filter(
    ({ under }) => !GENERATED.some(({ file }) => file === under || file.startsWith(`${under}/`)),
  );
  expect(idle.map(({ under }) => under)).toEqual([]);
  const names = new Set(FOUND.map(({ name }) => name));
  expect(Object.keys(EXCLUDED).filter((name) => !names.has(name))).toEqual([]);
});

/** Sets of mutants that do not overlap, which one text can have at once. */
function apart(mutants: readonly Mutant[]): readonly (readonly Mutant[])[] {
  const sets: Mutant[][] = [];
  for (const mutant of mutants.toSorted((a, b) => a.change.start - b.change.start)) {
    const room = sets.find((set) => (set.at(-1)?.change.end ?? 0) <= mutant.change.start);
    if (room === undefined) sets.push([mutant]);
    else room.push(mutant);
  }
  return sets;
}

function withoutAll(text: string, mutants: readonly Mutant[]): string {
  return mutants.reduceRight(without, text);
}

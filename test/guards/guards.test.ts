import { existsSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { EXCLUDED } from './generated/excluded.ts';
import { meaningOf } from './generated/meaning.ts';
import { SCOPES } from './generated/scopes.ts';
import { guardsPage } from './guards-page.ts';
import { GUARDS } from './guards.ts';
import { FOUND, GENERATED, mutantOf, sourceOf, without, type Mutant } from './mutants.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Each guard with what is wrong with it. */
function wrong(problemOf: (guard: (typeof GUARDS)[number]) => string | undefined): readonly string[] {
  return GUARDS.flatMap((guard) => {
    const problem = problemOf(guard);
    return problem === undefined ? [] : [`${guard.name}: ${problem}`];
  });
}

/** Why a text is no program. */
function problemOf(text: string): string | undefined {
  try {
    stripTypeScriptTypes(text);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

test('what a guard looks for occurs exactly once in its file, and disabling it changes the file', () => {
  expect(
    wrong((guard) => {
      const text = sourceOf(guard.file);
      const mutant = mutantOf(guard, text);
      if (mutant === null) return `${text.split(guard.find).length - 1} times in src/${guard.file}`;
      return without(text, mutant) === text ? 'nothing changes' : undefined;
    }),
  ).toEqual([]);
});

test('without a guard its file is still a program', () => {
  expect(
    wrong((guard) => {
      const text = sourceOf(guard.file);
      const mutant = mutantOf(guard, text);
      return mutant === null ? 'it is not there' : problemOf(without(text, mutant));
    }),
  ).toEqual([]);
});

test('each guard has a name of its own, and disables something of its own', () => {
  const names = new Map<string, number>();
  const changes = new Map<string, string>();
  expect(
    wrong(({ name, file, find, replace }) => {
      if (!/^[a-z\d]+(?:-[a-z\d]+)*$/u.test(name)) return 'not in kebab-case';
      if (names.has(name)) return 'named twice';
      names.set(name, 1);
      const change = JSON.stringify([file, find, replace]);
      const other = changes.get(change);
      changes.set(change, name);
      return other === undefined ? undefined : `the same as ${other}`;
    }),
  ).toEqual([]);
});

test('no guard is written down that an operator finds', () => {
  const found = Map.groupBy(GENERATED, ({ file }) => file);
  expect(
    wrong((guard) => {
      const text = sourceOf(guard.file);
      const mutant = mutantOf(guard, text);
      if (mutant === null) return 'it is not there';
      const { start, end } = mutant.change;
      const near = (found.get(guard.file) ?? []).filter(({ change }) => change.start <= end && start <= change.end);
      const meant = near.length === 0 ? '' : meaningOf(without(text, mutant));
      return near.find((other) => meaningOf(without(text, other)) === meant)?.name;
    }),
  ).toEqual([]);
});

test('what each guard holds is one sentence', () => {
  expect(wrong(({ holds }) => (/^[^|\n]{10,160}[^.]\.$/u.test(holds) ? undefined : holds))).toEqual([]);
});

test('the tests of each guard, by hand or generated, are fast ones that exist', () => {
  const files = [...GUARDS, ...SCOPES].flatMap(({ tests }) => tests);
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

test('docs/guards.md is the list of guards', async () => {
  await expect(guardsPage()).toMatchFileSnapshot(join(ROOT, 'docs', 'guards.md'));
});

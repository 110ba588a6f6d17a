import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { guardsPage } from './guards-page.ts';
import { GUARDS } from './guards.ts';
import { disabled } from './mutation.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Each guard with what is wrong with it. */
function wrong(problemOf: (guard: (typeof GUARDS)[number]) => string | undefined): readonly string[] {
  return GUARDS.flatMap((guard) => {
    const problem = problemOf(guard);
    return problem === undefined ? [] : [`${guard.name}: ${problem}`];
  });
}

test('what a guard looks for occurs exactly once in its file, and disabling it changes the file', () => {
  expect(
    wrong((guard) => {
      const text = readFileSync(join(ROOT, 'src', guard.file), 'utf8');
      const without = disabled(text, guard);
      if (without === null) return `${text.split(guard.find).length - 1} times in src/${guard.file}`;
      return without === text ? 'nothing changes' : undefined;
    }),
  ).toEqual([]);
});

test('without a guard its file is still a program', () => {
  expect(
    wrong((guard) => {
      const text = disabled(readFileSync(join(ROOT, 'src', guard.file), 'utf8'), guard);
      try {
        stripTypeScriptTypes(text ?? '');
        return undefined;
      } catch (error) {
        return String(error);
      }
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

test('what each guard holds is one sentence', () => {
  expect(wrong(({ holds }) => (/^[^|\n]{10,160}[^.]\.$/u.test(holds) ? undefined : holds))).toEqual([]);
});

test('the tests of each guard are fast ones that exist', () => {
  expect(
    wrong(({ tests }) => {
      const odd = tests.find((file) => !/(?<!\.long)\.test\.ts$/u.test(file) || !existsSync(join(ROOT, 'test', file)));
      return odd === undefined ? undefined : `test/${odd}`;
    }),
  ).toEqual([]);
});

test('docs/guards.md is the list of guards', async () => {
  await expect(guardsPage()).toMatchFileSnapshot(join(ROOT, 'docs', 'guards.md'));
});

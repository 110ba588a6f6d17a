import { expect, test } from 'vitest';
import { OPERATORS } from './operators.ts';
import { nodesOf } from './syntax.ts';
import { WIDE_OPERATORS } from './wide-operators.ts';

/** What each operator makes of a program in which every decision is a guard, or only what refuses or names trust. */
function made(text: string, every = true, operators = OPERATORS): readonly string[] {
  return nodesOf(text).flatMap((place) =>
    operators.flatMap(({ name, changes }) =>
      changes(place, text, every).map(
        ({ start, end, by }) => `${name}: ${(text.slice(0, start) + by + text.slice(end)).trim()}`,
      ),
    ),
  );
}

test.each([
  ['an if that throws', `if (bad) throw new Error('no');`, [`never: if (false) throw new Error('no');`]],
  ['what was caught is thrown on', `function f() { try { g(); } catch (error) { if (bad) throw error; } }`, []],
  [
    'an if before a refusal',
    `function f() { if (ok) return; throw new Error('no'); }`,
    [`always: function f() { if (true) return; throw new Error('no'); }`],
  ],
  [
    'the parts of a condition that refuses',
    `if (bad || worse) throw new Error('no');`,
    [
      `never: if (false) throw new Error('no');`,
      `part: if (false || worse) throw new Error('no');`,
      `part: if (bad || false) throw new Error('no');`,
    ],
  ],
  ['a reason or nothing', `const why = bad ? 'it is bad' : null;`, [`nothing: const why = (null);`]],
  [
    'a choice about trust',
    `const seen = role === 'owner' ? all : some;`,
    ['choice: const seen = (all);', 'choice: const seen = (some);'],
  ],
  ['a check', `await requireFile(path);`, ['call: ;']],
  ['what a call adds to a list', `say([...one(), two]);`, ['some: say([...[], two]);']],
  [
    'an entry of a table',
    `const RULES = { tee: writes, dd };`,
    ['entry: const RULES = { ...{}, dd };', 'entry: const RULES = { tee: writes, ...{} };'],
  ],
  ['a list of names', `const NAMES = new Set(['a', 'b']);`, ['list: const NAMES = new Set([]);']],
  ['a limit', `const MOST_FILES = 8;`, ['limit: const MOST_FILES = Infinity;']],
  ['a time', `const WAIT_MS = 8 * 1000;`, ['limit: const WAIT_MS = 2_147_483_647;']],
  ['a deadline', `deadline(clock, ms, 'it');`, [`limit: deadline(clock, 2_147_483_647, 'it');`]],
  ['a secret in a text', `say(redact(text));`, ['plain: say((text));']],
  ['a refusal', `f({ decision: 'deny', why });`, [`permit: f({ decision: 'allow', why });`]],
  ['a mark', `say({ untrusted: true });`, ['mark: say({ ...{} });']],
  ['no mark', `say({ untrusted: false });`, []],
  ['a text before it is compared', `same(text.normalize('NFKC'));`, ['clean: same((text));']],
  ['a flag of an open file', `open(A | B);`, ['option: open((A));']],
  ['an option of a program', `start(['--unshare-all', path]);`, ['option: start([...[], path]);']],
  [
    'an answer with yes or no',
    `function isIn(name: string): boolean { return has(name); }`,
    [
      'verdict: function isIn(name: string): boolean { return true; }',
      'verdict: function isIn(name: string): boolean { return false; }',
    ],
  ],
  ['what is filtered', `show(list.filter((one) => isNear(one)));`, []],
  ['what trust filters', `show(list.filter((one) => one.allowed));`, ['filter: show((list));']],
  ['a type', `type Role = 'owner' | 'guest';`, []],
])('%s', (_title, text, expected) => {
  expect(made(text)).toEqual(expected);
});

test('elsewhere only what refuses or asks about trust is a guard', () => {
  expect(made(`function f() { if (empty) return null; if (role === 'guest') return null; }`, false)).toEqual([
    `never: function f() { if (empty) return null; if (false) return null; }`,
  ]);
  expect(made(`function f() { if (empty) return deny('it is empty'); }`, false)).toEqual([
    `never: function f() { if (false) return deny('it is empty'); }`,
  ]);
  expect(made(`const MOST = 8; const why = bad ? 'it is bad' : null;`, false)).toEqual([]);
});

test('a role in a conversation is no question of trust', () => {
  expect(made(`function f() { if (entry.role === 'assistant') return null; }`, false)).toEqual([]);
});

test('a change is known by the function or constant it lies in', () => {
  const text = `const LIST = [one]; class A { b() { return two; } } const c = () => three; const d = four;`;
  const names = nodesOf(text).flatMap(({ node, within }) =>
    node.type === 'Identifier' && /^(?:one|two|three|four)$/u.test(node.name) ? [within] : [],
  );
  expect(names).toEqual(['LIST', 'b', 'c', 'file']);
});

test.each([
  ['a call', `note(one); const two = note(two); step(two);`, ['skip: ; const two = note(two); step(two);']],
  ['an if', `if (one) two = 1; else two = 2;`, ['if: if (false) two = 1; else two = 2;']],
  [
    'a condition',
    `const a = f(one && two !== undefined && (three || four));`,
    [
      'side: const a = f(one && two !== undefined && (true));',
      'side: const a = f(true && two !== undefined && (three || four));',
      'side: const a = f(one && two !== undefined && (false || four));',
      'side: const a = f(one && two !== undefined && (three || false));',
    ],
  ],
  ['a choice', `const a = f(one ? two : three);`, ['branch: const a = f((two));', 'branch: const a = f((three));']],
  ['a list', `const a = f([one, ...two]);`, ['spread: const a = f([one, ...[]]);']],
  ['what stands for nothing', `const a = f(one ?? two);`, ['first: const a = f((two));']],
  [
    'true or false',
    `const a = f(true, { one: false });`,
    ['flip: const a = f(false, { one: false });', 'flip: const a = f(true, { one: true });'],
  ],
])('in a file that is looked at widely: %s', (_title, text, expected) => {
  expect(made(text, true, WIDE_OPERATORS)).toEqual(expected);
});

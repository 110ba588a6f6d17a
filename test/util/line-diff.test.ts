import { array, assert, constantFrom, property } from 'fast-check';
import { expect, test } from 'vitest';
import { diffLines } from '../../src/core/util/line-diff.ts';

const diff = (before: string, after: string): readonly string[] =>
  diffLines(before, after).map(({ sign, line }) => `${sign}${line}`);

test('says which lines are gone and which have come', () => {
  expect(diff('a\nb\nc', 'a\nB\nc')).toEqual(['−b', '+B']);
  expect(diff('a\nb\nc\nd', 'b\nc\nx\nd')).toEqual(['−a', '+x']);
  expect(diff('same', 'same')).toEqual([]);
});

test('holds all that is needed to make the one text of the other', () => {
  const text = array(constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => lines.join('\n'));
  assert(
    property(text, text, (before, after) => {
      const changes = diffLines(before, after);
      const count = (lines: readonly string[], line: string): number => lines.filter((other) => other === line).length;
      for (const line of ['a', 'b', 'c', '']) {
        const gone = changes.filter((change) => change.sign === '−' && change.line === line).length;
        const come = changes.filter((change) => change.sign === '+' && change.line === line).length;
        expect(count(before.split('\n'), line) - gone + come).toBe(count(after.split('\n'), line));
      }
    }),
  );
});

test('takes no long time for long texts', () => {
  const lines = (mark: string): string => Array.from({ length: 5000 }, (_, n) => `${mark}${n}`).join('\n');
  expect(diffLines(lines('a'), lines('b'))).toHaveLength(10_000);
});

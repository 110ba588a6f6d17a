import { expect, test } from 'vitest';
import { approvalHash } from '../../src/core/security/access/approval-hash.ts';

test.each([
  ['the same value under another name', { path: 'a', text: 'b' }, { path: 'b', text: 'a' }],
  ['a field that was renamed', { cwd: 'a' }, { outside: 'a' }],
  ['one text that looks like two', { words: ['a', 'b'] }, { words: ['a,b'] }],
  ['one text that looks like two quoted ones', { words: ['a', 'b'] }, { words: ['a","b'] }],
  ['a list in a list', { words: [['a'], 'b'] }, { words: [['a', 'b']] }],
  ['a list that looks like an object', { words: ['a'] }, { words: { 0: 'a' } }],
  ['another order in a list', { words: ['a', 'b'] }, { words: ['b', 'a'] }],
  ['a text that looks like a number', { count: 1 }, { count: '1' }],
  ['a text that looks like nothing', { cwd: null }, { cwd: 'null' }],
  ['a field that looks like two', { 'a":1,"b': 2 }, { a: 1, b: 2 }],
])('%s has another hash', (_, one, other) => {
  expect(approvalHash(one)).not.toBe(approvalHash(other));
});

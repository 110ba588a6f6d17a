import { describe, expect, test } from 'vitest';
import { budgets, linesByFolder } from '../scripts/budgets.ts';
import { executedFiles } from '../scripts/executed-files.ts';

/** Files that may be executed on the way of each: they only fall. A command that takes longer than usual is watched by some more. */
const FILES = { hi: 210, exec: 80, read_file: 52 };
/** Lines that a folder may lack before its budget has to follow. */
const SLACK = 200;

describe('the budgets of docs/architecture.md', () => {
  const lines = linesByFolder('src');

  test('are kept by each folder', () => {
    const over = [...lines].filter(([folder, count]) => count > (budgets().get(folder) ?? 0));
    expect(over).toEqual([]);
  });

  test('fall with the lines: node scripts/budgets.ts', () => {
    const loose = [...budgets()].filter(([folder, budget]) => (lines.get(folder) ?? 0) < budget - SLACK);
    expect(loose).toEqual([]);
  });
});

test('a message, a command and a file that is read pass no more files than they may', async () => {
  const counts = Object.fromEntries(Array.from(await executedFiles(), ([path, files]) => [path, files.length]));
  expect(Object.entries(counts).filter(([path, count]) => count > FILES[path as keyof typeof FILES])).toEqual([]);
  expect(Object.keys(counts).toSorted()).toEqual(Object.keys(FILES).toSorted());
});

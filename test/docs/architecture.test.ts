import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8');

/** Files and folders that stand in backticks, as the page writes them. */
const NAMED = [...PAGE.matchAll(/`(?<path>[\w./-]+(?:\.ts|\.md|\/))`/gu)]
  .map(({ groups }) => groups?.['path'] ?? '')
  .filter((path) => path.includes('/') || path.endsWith('.ts'))
  .filter((path) => !['src/', 'inbound.ts'].includes(path));

/** Methods and functions that a row of the page sends its reader to. */
const ANCHORED = [...PAGE.matchAll(/`(?<path>[\w./-]+\.ts)`, `(?<name>#?\w+)`/gu)].map(({ groups }) => ({
  path: groups?.['path'] ?? '',
  name: groups?.['name'] ?? '',
}));

function placeOf(path: string): string {
  return /^(?:test|docs|scripts)\/|^\w+\.config\.ts$/u.test(path) ? join(ROOT, path) : join(ROOT, 'src', path);
}

test('every path of docs/architecture.md exists', () => {
  expect(NAMED.length).toBeGreaterThan(60);
  expect([...new Set(NAMED)].filter((path) => !existsSync(placeOf(path)))).toEqual([]);
});

test('every name that docs/architecture.md gives beside a file stands in that file', () => {
  expect(ANCHORED.length).toBeGreaterThan(5);
  const missing = ANCHORED.filter(({ path, name }) => !readFileSync(placeOf(path), 'utf8').includes(name));
  expect(missing).toEqual([]);
});

test('every link of docs/architecture.md leads to a file', () => {
  const links = [...PAGE.matchAll(/\]\((?<to>[^)#]+)\)/gu)].map(({ groups }) => groups?.['to'] ?? '');
  expect(links.filter((to) => !existsSync(join(ROOT, 'docs', to)))).toEqual([]);
});

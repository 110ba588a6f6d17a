import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('what docs/troubleshooting.md quotes is said by the program', () => {
  const page = readFileSync(join(ROOT, 'docs', 'troubleshooting.md'), 'utf8');
  const prose = page.replaceAll(/`[^`\n]*`/gu, '');
  const quotes = [...prose.matchAll(/"(?<words>[^"\n]+)"/gu)].map(({ groups }) => groups?.['words'] ?? '');
  expect(quotes.length).toBeGreaterThan(15);
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|cjs)$/u.test(name))
    .map((name) => readFileSync(join(ROOT, 'src', name), 'utf8'));
  expect(quotes.filter((words) => !sources.some((text) => text.includes(words)))).toEqual([]);
});

/**
 * Writes the budgets of docs/architecture.md: lowers each to what its folder has now, adds new folders, and counts the lines
 * of tests. `node scripts/budgets.ts` after a change that took lines away or moved a folder.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENT = join(ROOT, 'docs/architecture.md');
const HEAD = '| folder of `src/` | budget | its tests |\n|---|---:|---:|\n';
const ROW = /^\| `(?<folder>[\w./-]+)` \| (?<budget>[\d,]+) \| [\d,]+ \|$/gmu;

/** Lines by folder: the first below `root`, and the second below those that hold parts of their own. */
export function linesByFolder(root: 'src' | 'test'): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const file of globSync(`${root}/**/*.{ts,tsx,css,html,cjs}`, { cwd: ROOT })) {
    const [, first = '', second = '', ...rest] = file.split('/');
    // The list of extensions grows with each.
    if (file === 'src/extensions/index.ts') continue;
    const isWide = (first === 'core' || first === 'extensions') && rest.length > 0;
    const folder = second === '' ? 'files' : isWide ? `${first}/${second}` : first;
    lines.set(folder, (lines.get(folder) ?? 0) + readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1);
  }
  return lines;
}

/** The budgets as the document has them: lines by folder. */
export function budgets(): ReadonlyMap<string, number> {
  const rows = readFileSync(DOCUMENT, 'utf8').matchAll(ROW);
  return new Map(
    [...rows].map(({ groups }) => [groups?.['folder'] ?? '', Number(groups?.['budget']?.replaceAll(',', ''))]),
  );
}

if (import.meta.main) {
  const [sources, tests, before] = [linesByFolder('src'), linesByFolder('test'), budgets()];
  const rows = [...sources]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, lines]) => {
      const budget = Math.min(lines, before.get(folder) ?? lines);
      if (lines > budget)
        process.stdout.write(`${folder} has ${lines} lines, ${lines - budget} more than its budget.\n`);
      const own = tests.get(folder.split('/').at(-1) ?? '') ?? 0;
      return `| \`${folder}\` | ${budget.toLocaleString('en')} | ${own.toLocaleString('en')} |\n`;
    });
  const text = readFileSync(DOCUMENT, 'utf8');
  const start = text.indexOf(HEAD);
  if (start === -1) throw new Error(`${DOCUMENT} has no table of budgets, which begins with:\n${HEAD}`);
  const table = /(?:\|[^\n]*\|\n)+/u.exec(text.slice(start))?.[0] ?? '';
  writeFileSync(DOCUMENT, text.slice(0, start) + HEAD + rows.join('') + text.slice(start + table.length));
}

/**
 * Moves files or folders and everything that names them: `node scripts/move.ts FROM TO [FROM TO …]`, paths from the root.
 * Rewritten are relative paths in quotes in TypeScript (imports, `new URL`, mocked modules) and paths from the root in
 * documents, tests and settings. Folders above that are named by dots alone stay as they are: look at those yourself. Run the
 * formatter afterwards.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

const CODE = '{src,test,examples,scripts}/**/*.{ts,tsx}';
const TEXTS = ['*.{json,ts}', '.*.json', 'docs/**/*.md', 'README.md', 'test/**/*.{json,txt}', 'src/page/tsconfig.json'];

const given = process.argv.slice(2).map((path) => normalize(path).replace(/\/$/u, ''));
const moves = given.flatMap((from, at) => (at % 2 === 0 ? [[from, given[at + 1] ?? ''] as const] : []));
const problem = moves
  .map(([from, to]) => {
    if (!existsSync(from)) return `${from} does not exist.`;
    return to === '' || existsSync(to) ? `${from} needs a new path that is free, not "${to}".` : '';
  })
  .find(Boolean);
if (problem !== undefined || moves.length === 0) {
  process.stderr.write(`${problem ?? 'node scripts/move.ts FROM TO [FROM TO …]'}\n`);
  process.exit(1);
}

/** Where a path is after the moves. */
function after(path: string): string {
  const move = moves.find(([from]) => path === from || path.startsWith(`${from}/`));
  return move === undefined ? path : move[1] + path.slice(move[0].length);
}

/** The text of a file that lies at `before`, with its relative paths as they are after the moves. */
function withPaths(text: string, before: string): string {
  const [from, to] = [dirname(before), dirname(after(before))];
  return text.replaceAll(
    /(?<quote>['"`])(?<path>\.{1,2}\/[^'"`$\n]*\w[^'"`$\n]*)\k<quote>/gu,
    (quoted, quote: string, path: string) => {
      const target = join(from, path);
      if (!existsSync(target) || (from === to && after(target) === target)) return quoted;
      const moved = relative(to, after(target));
      return `${quote}${moved.startsWith('.') ? moved : `./${moved}`}${path.endsWith('/') ? '/' : ''}${quote}`;
    },
  );
}

/** Documents, tests and settings also name the sources without their `src/`. */
function withNames(text: string): string {
  return moves
    .flatMap(([from, to]) => [[from, to] as const, [from.replace(/^src\//u, ''), to.replace(/^src\//u, '')] as const])
    .filter(([from]) => from.includes('/'))
    .reduce(
      (all, [from, to]) => all.replaceAll(new RegExp(`(?<=[\`'"(])${RegExp.escape(from)}(?![\\w.-])`, 'gu'), to),
      text,
    );
}

const code = globSync(CODE).map((path) => ({ path, text: withNames(withPaths(readFileSync(path, 'utf8'), path)) }));
for (const path of globSync(TEXTS)) {
  const text = readFileSync(path, 'utf8');
  const changed = withNames(text);
  if (changed !== text) writeFileSync(path, changed);
}
for (const [from, to] of moves) {
  mkdirSync(dirname(to), { recursive: true });
  execFileSync('git', ['mv', from, to]);
}
for (const { path, text } of code) {
  const target = after(path);
  if (readFileSync(target, 'utf8') !== text) writeFileSync(target, text);
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A page that people read: its path from the root of the repository, and its text. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** README.md and every page of docs/. */
export const PAGES: readonly Page[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

/** Text between single backticks, outside of fenced blocks. */
export function inlineCode(text: string): readonly string[] {
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```$/gmu, '');
  return [...prose.matchAll(/(?<!`)`(?<code>[^`]+)`(?!`)/gu)].map(({ groups }) =>
    (groups?.['code'] ?? '').replaceAll(/\s*\n\s*/gu, ' ').replaceAll('\\|', '|'),
  );
}

/** Lines of fenced and of indented blocks, without their indentation; not of conversations. */
export function codeLines(page: string): readonly string[] {
  const text = page.replaceAll(/^```transcript\n[\s\S]*?^```$/gmu, '');
  const fenced = [...text.matchAll(/^ *```\w*\n(?<body>[\s\S]*?)^ *```$/gmu)].flatMap(({ groups }) =>
    (groups?.['body'] ?? '').split('\n'),
  );
  const indented = text.split('\n').filter((line) => /^(?: {4}|\t)/u.test(line));
  return [...new Set([...fenced, ...indented].map((line) => line.trim()))];
}

/** Blocks that are fenced as JSON of some kind. */
export function jsonBlocks(text: string): readonly string[] {
  return [...text.matchAll(/^```json[c5]?\n(?<body>[\s\S]*?)^```$/gmu)].map(({ groups }) => groups?.['body'] ?? '');
}

/** Where the links of a page lead, without those to other sites. */
export function links(text: string): readonly string[] {
  return [...text.matchAll(/\]\((?<to>[^)\s]+)\)/gu)]
    .map(({ groups }) => groups?.['to'] ?? '')
    .filter((to) => !/^[a-z]+:/u.test(to));
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchors(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#{1,6} (?<title>.+)$/gmu)].map(({ groups }) => groups?.['title'] ?? '');
  return new Set(
    headings.map((title) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** The example of docs/library.md. */
export function libraryExample(): string {
  const page = readFileSync(join(ROOT, 'docs', 'library.md'), 'utf8');
  const blocks = [...page.matchAll(/^```ts\n(?<code>[\s\S]*?)^```$/gmu)].map(({ groups }) => groups?.['code'] ?? '');
  if (blocks.length !== 1) throw new Error(`docs/library.md has ${blocks.length} examples instead of one`);
  return blocks.join('');
}

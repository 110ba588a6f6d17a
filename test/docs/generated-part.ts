import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

/** The root of the repository. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Compares parts of a page, each between `<!-- begin: NAME -->` and `<!-- end: NAME -->`, with the given texts. With `vitest
 * -u` they are rewritten and the rest of the page is kept. Throws if the page has no such part, or has it twice. All
 * generated parts of a page must be given in one call.
 */
export async function expectParts(page: string, parts: Readonly<Record<string, string>>): Promise<void> {
  const path = join(ROOT, page);
  let text = readFileSync(path, 'utf8');
  for (const [name, part] of Object.entries(parts)) {
    const [begin, end] = [`<!-- begin: ${name} -->\n`, `<!-- end: ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from === -1 || to < from) throw new Error(`${page} has no part ${name}`);
    if (text.indexOf(begin, to) !== -1) throw new Error(`${page} has part ${name} twice`);
    text = `${text.slice(0, from + begin.length)}\n${part.replaceAll(/^\n+|\s+$/gu, '')}\n\n${text.slice(to)}`;
  }
  await expect(text).toMatchFileSnapshot(path);
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/gu, ' ').replaceAll(/(?<!\\)\|/gu, '\\|');
}

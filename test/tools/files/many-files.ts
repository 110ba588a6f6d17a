import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { longestBlock } from '../../support/event-loop.ts';
import { fileTools, type FileTools } from '../../support/file-tools.ts';

const FOLDERS = 500;
const LONGEST_BLOCK_MS = 50;

/** A TODO in one file of each folder. */
function fill(workspace: string, inEach: number): void {
  const rules = Array.from({ length: 100 }, (_, n) => `*.ignored${n}\nbuilt${n}/`);
  writeFileSync(join(workspace, '.gitignore'), rules.join('\n'));
  for (let n = 0; n < FOLDERS; n += 1) {
    const folder = join(workspace, `part${n % 20}`, `folder${n}`);
    mkdirSync(folder, { recursive: true });
    for (let i = 0; i < inEach; i += 1) {
      writeFileSync(join(folder, `file${i}.ts`), `const n = ${i};\n${i === 7 ? '// TODO: more\n' : ''}`);
    }
  }
}

/** Searches through 500 folders with so many files each. */
export function testManyFiles(inEach: number): void {
  describe(`over ${(FOLDERS * inEach).toLocaleString('en')} files`, () => {
    let files: FileTools;

    beforeAll(async () => {
      files = await fileTools({ searchMs: 60_000 });
      fill(files.workspace, inEach);
    }, 120_000);
    afterAll(async () => files[Symbol.asyncDispose]());

    test.each([
      ['grep', { pattern: String.raw`T[O]DO:\s+more`, limit: 1_000, mode: 'count' }, FOLDERS, 1_000],
      ['glob', { pattern: '**/file7.ts', limit: 1_000 }, FOLDERS, 1_000],
    ])('%s %j finds everything and holds nobody up', async (name, args, count, most) => {
      const said: string[] = [];
      // The best of some tries: on a busy machine another program may hold it up.
      let blocked = Infinity;
      for (let tries = 0; tries < 4 && blocked >= LONGEST_BLOCK_MS; tries += 1) {
        let found = 0;
        const longest = await longestBlock(async () => {
          for (let offset: number | undefined = 0; offset !== undefined && found < most;) {
            const { output, metadata, isError } = await files.call(
              name,
              { ...args, offset },
              { progress: (text) => said.push(text) },
            );
            expect([isError, output.includes('no time')]).toEqual([undefined, false]);
            found += Number(metadata['found']);
            const next = /continue at offset (\d+)/u.exec(output)?.[1];
            offset = next === undefined ? undefined : Number(next);
          }
        });
        expect(found).toBe(count);
        blocked = Math.min(blocked, longest);
      }
      expect(blocked).toBeLessThan(LONGEST_BLOCK_MS);
      for (const text of said) expect(text).toMatch(/^searched \d+ files$/u);
    });
  });
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readFirstLine, type ReadLinesOptions, readLinesBackwards } from '../../src/core/storage/read-lines.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lines-'));
  path = join(folder, 'lines');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function read(options?: ReadLinesOptions): Promise<{ text: string; offset: number; torn: boolean }[]> {
  const found = [];
  for await (const { bytes, offset, torn } of readLinesBackwards(path, options)) {
    found.push({ text: bytes.toString('utf8'), offset, torn });
  }
  return found;
}

describe('reading lines backwards', () => {
  test('gives whole lines with their offsets, newest first', async () => {
    await writeFile(path, 'one\n\nthree\n');
    expect(await read()).toEqual([
      { text: 'three', offset: 5, torn: false },
      { text: '', offset: 4, torn: false },
      { text: 'one', offset: 0, torn: false },
    ]);
  });

  test('marks a last line without a newline as torn', async () => {
    await writeFile(path, 'one\ntw');
    expect(await read()).toEqual([
      { text: 'tw', offset: 4, torn: true },
      { text: 'one', offset: 0, torn: false },
    ]);
    await writeFile(path, 'only');
    expect(await read()).toEqual([{ text: 'only', offset: 0, torn: true }]);
    await writeFile(path, '');
    expect(await read()).toEqual([]);
  });

  test('finds the same lines whatever the chunk size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\r'), maxLength: 9 }), { maxLength: 12 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 9 }),
        async (lines, torn, chunkBytes) => {
          await writeFile(path, lines.join('\n') + (torn ? '' : '\n'));
          const found = await read({ chunkBytes });
          const expected = torn && lines.at(-1) === '' ? lines.slice(0, -1) : lines;
          if (lines.length > 0) expect(found.map((line) => line.text).reverse()).toEqual(expected);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('stops at the given end and reads no more than it was asked for', async () => {
    await writeFile(path, 'x'.repeat(99).concat('\n').repeat(10_000));
    let bytes = 0;
    const options = { end: 500_000, onRead: (count: number) => (bytes += count) };
    for await (const { offset } of readLinesBackwards(path, options)) {
      expect(offset).toBe(499_900);
      break;
    }
    expect(bytes).toBe(65_536);
  });

  test('knows the first line only when it is complete', async () => {
    await writeFile(path, 'first\nsecond\n');
    expect((await readFirstLine(path))?.toString()).toBe('first');
    await writeFile(path, 'fir');
    expect(await readFirstLine(path)).toBeUndefined();
  });
});

import { closeSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readLines } from '../../../src/extensions/files/search/lines.ts';
import { tempFolder } from '../../support/temp.ts';

/** All lines of a file with these bytes; null when they are binary. */
async function linesOf(bytes: Uint8Array): Promise<readonly string[] | null> {
  await using folder = await tempFolder();
  const path = join(folder.path, 'file');
  await writeFile(path, bytes);
  const fd = openSync(path, 'r');
  try {
    const lines: string[] = [];
    const read = readLines(fd, (some) => lines.push(...some) > 0);
    return read === 'binary' ? null : lines;
  } finally {
    closeSync(fd);
  }
}

test.each([
  ['that are empty', Buffer.from('\n\na\n\n'), ['', '', 'a', '']],
  ['of nothing', Buffer.from(''), []],
  ['of one newline', Buffer.from('\n'), ['']],
  ['with carriage returns inside', Buffer.from('a\rb\n'), ['a\rb']],
  ['of UTF-16 big endian', Buffer.from('\ufeffäö\r\n你', 'utf16le').swap16(), ['äö', '你']],
  ['of windows-1252', Buffer.from('gr\xfc\xdfe \x80\n', 'latin1'), ['grüße €']],
  ['of NUL bytes between others', Buffer.from('a\0b'), null],
  ['of UTF-16 without a mark', Buffer.from('a\nb\nc\n', 'utf16le'), null],
  ['of NUL and other control characters', Buffer.from('SQLite format 3\0\u0010\u0001\n'), null],
  ['of control characters in what is no UTF-8', Buffer.from([0x89, 0x50, 0x01, 0x02, 0xff]), null],
])('lines %s', async (_name, bytes, lines) => {
  expect(await linesOf(bytes)).toEqual(lines);
});

test('lines come whole, however long they are', async () => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll(/[\r\n\0\ufeff]/gu, '')),
    fc.integer({ min: 100_000, max: 300_000 }).map((length) => 'ü'.repeat(length)),
    fc.constant(''),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 8 }), fc.boolean(), fc.boolean(), async (lines, crlf, isEnded) => {
      const end = crlf ? '\r\n' : '\n';
      const text = lines.join(end) + (isEnded && lines.length > 0 ? end : '');
      const expected = isEnded || lines.at(-1) !== '' ? lines : lines.slice(0, -1);
      expect(await linesOf(Buffer.from(text))).toEqual(expected);
    }),
    { numRuns: 40 },
  );
});

test('lines of more than 16 MB are cut, and the next one keeps its number', async () => {
  const lines = (await linesOf(Buffer.from(`${'x'.repeat(17_000_000)}\nnext\n`))) ?? [];
  expect(lines.map((line) => line.length)).toEqual([16 * 1024 * 1024, 4]);
});

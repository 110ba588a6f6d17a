import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eachLine } from '../../../src/core/tools/files/search/text-lines.ts';

/** All lines of these bytes, given in pieces of at most `step`; null when they are binary. */
function linesOf(bytes: Uint8Array, step = Number.POSITIVE_INFINITY, most = Number.POSITIVE_INFINITY): string[] | null {
  let at = 0;
  const lines: string[] = [];
  const read = eachLine(
    (buffer) => {
      const part = bytes.subarray(at, at + Math.min(step, buffer.length));
      buffer.set(part);
      at += part.length;
      return part.length;
    },
    (line) => lines.push(line) < most,
  );
  return read === 'binary' ? null : lines;
}

describe('lines', () => {
  test.each([
    ['with a final newline', 'a\nb\n', ['a', 'b']],
    ['without one', 'a\nb', ['a', 'b']],
    ['of CRLF', 'a\r\nb\r\n', ['a', 'b']],
    ['that are empty', '\n\na\n\n', ['', '', 'a', '']],
    ['of nothing', '', []],
    ['of one newline', '\n', ['']],
    ['behind a byte-order mark', '\ufeffa\nb', ['a', 'b']],
    ['with carriage returns inside', 'a\rb\n', ['a\rb']],
  ])('%s', (_name, text, lines) => {
    expect(linesOf(Buffer.from(text))).toEqual(lines);
  });

  test.each([
    ['UTF-16 little endian', Buffer.from('\ufeffäö\r\n你\n', 'utf16le'), ['äö', '你']],
    ['UTF-16 big endian', Buffer.from('\ufeffäö\r\n你', 'utf16le').swap16(), ['äö', '你']],
    ['windows-1252', Buffer.from('gr\xfc\xdfe \x80\n', 'latin1'), ['grüße €']],
  ])('of %s', (_name, bytes, lines) => {
    expect(linesOf(bytes)).toEqual(lines);
  });

  test.each([
    ['NUL', Buffer.from('a\0b')],
    ['UTF-16 without a mark', Buffer.from('a\nb\nc\n', 'utf16le')],
    ['NUL and other control characters', Buffer.from('SQLite format 3\0\u0010\u0001\n')],
    ['control characters in what is no UTF-8', Buffer.from([0x89, 0x50, 0x01, 0x02, 0xff])],
  ])('are not there with %s', (_name, bytes) => {
    expect(linesOf(bytes)).toBeNull();
  });

  test('come the same whatever pieces the bytes come in, however long they are', () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll(/[\r\n\0\ufeff]/gu, '')),
      fc.integer({ min: 100_000, max: 300_000 }).map((length) => 'ü'.repeat(length)),
      fc.constant(''),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.boolean(), fc.boolean(), (lines, crlf, isEnded) => {
        const end = crlf ? '\r\n' : '\n';
        const text = lines.join(end) + (isEnded && lines.length > 0 ? end : '');
        const expected = isEnded || lines.at(-1) !== '' ? lines : lines.slice(0, -1);
        expect(linesOf(Buffer.from(text))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  test('are no longer wanted when somebody says so', () => {
    expect(linesOf(Buffer.from('a\nb\nc\n'), 4, 2)).toEqual(['a', 'b']);
  });

  test('of more than 16 MB are cut, and the next one keeps its number', () => {
    const lines = linesOf(Buffer.from(`${'x'.repeat(17_000_000)}\nnext\n`)) ?? [];
    expect(lines.map((line) => line.length)).toEqual([16 * 1024 * 1024, 4]);
  });
});

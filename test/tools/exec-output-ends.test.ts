import { describe, expect, test } from 'vitest';
import { OutputEnds } from '../../src/core/tools/exec/output-ends.ts';
import type { StreamName } from '../../src/core/tools/exec/output-order.ts';
import { systemClock } from '../../src/core/util/clock.ts';

/** What is shown of pieces that came in this order; those of stderr begin with `!`. */
function endsOf(pieces: readonly string[]): OutputEnds {
  const ends = new OutputEnds(systemClock);
  for (const piece of pieces) {
    const stream: StreamName = piece.startsWith('!') ? 'stderr' : 'stdout';
    void ends.add({ stream, bytes: Buffer.from(piece.replace(/^!/u, '')) });
  }
  return ends;
}

const shown = (...pieces: readonly string[]): string => endsOf(pieces).text().output;
const LINE = `${'x'.repeat(99)}\n`;

describe('the order of two streams', () => {
  test('is the order in which they came', () => {
    expect(shown('a\n', '!b\n', 'c\nd\n', '!e\n')).toBe('a\n[stderr]\nb\n[stdout]\nc\nd\n[stderr]\ne\n');
  });

  test('a first mark is stderr, or there is none', () => {
    expect(shown('!b\n', '!c\n')).toBe('b\nc\n');
    expect(shown('!b\n', 'a\n')).toBe('[stderr]\nb\n[stdout]\na\n');
  });

  test('what comes within a line of the other stream follows that line', () => {
    expect(shown('Build', '!b\n', 'ing\nmore', '!c\n', '\n')).toBe(
      'Building\n[stderr]\nb\n[stdout]\nmore\n[stderr]\nc\n',
    );
    expect(shown('Build', '!b', 'ing', '!c\n')).toBe('Building\n[stderr]\nbc\n');
  });

  test('a line that takes all too long to end is broken, and nothing is lost', () => {
    const output = shown('Build', ...Array.from({ length: 1_400 }, () => `!${LINE}`), 'ing\n');
    expect(output).toMatch(/^Build\n\[stderr\]\nx+\n.*\n\[stdout\]\ning\n$/su);
  });

  test('a character that came in parts is whole', () => {
    const ends = new OutputEnds(systemClock);
    const [first, second] = [Buffer.from([0xe2, 0x82]), Buffer.from([0xac, 0x0a])];
    void ends.add({ stream: 'stdout', bytes: first });
    void ends.add({ stream: 'stderr', bytes: Buffer.from('b\n') });
    void ends.add({ stream: 'stdout', bytes: second });
    expect(ends.text().output).toBe('€\n[stderr]\nb\n');
  });
});

describe('the ends of two streams', () => {
  test.each([1, 10, 300, 999, 4_000, 70_000])('each keeps its end, in pieces of %i bytes', (size) => {
    const whole = (letter: string): string =>
      Array.from({ length: 12_000 }, (_, i) => `${letter}${String(i).padStart(5, '0')}\n`).join('');
    const [out, err] = [whole('o'), whole('e')];
    const pieces: string[] = [];
    for (let at = 0; at < out.length; at += size) pieces.push(out.slice(at, at + size), `!${err.slice(at, at + size)}`);
    const { output, truncated } = endsOf(pieces).text();
    expect(truncated).toBe(true);
    const end = output.slice(output.indexOf('left out and not kept'));
    for (const letter of ['o', 'e']) {
      const lines = end.split('\n').filter((line) => line.startsWith(letter));
      expect(lines.length).toBeGreaterThan(300);
      expect(lines).toEqual(
        Array.from(
          { length: lines.length },
          (_, i) => `${letter}${String(12_000 - lines.length + i).padStart(5, '0')}`,
        ),
      );
    }
  });

  test('an error in the middle of much output is kept whole', () => {
    const much = Array.from({ length: 1_000 }, () => LINE);
    for (const output of [shown(...much, '!the error\n', ...much), shown('!the error\n', ...much, ...much)]) {
      expect(output).toContain('[stderr]\nthe error\n[');
      expect(output.length).toBeLessThan(15_300);
    }
  });

  test('no half line is shown where something is cut', () => {
    const much = Array.from({ length: 300 }, (_, n) => `${n % 2 === 0 ? '' : '!'}<${'x'.repeat(n)}>\n`);
    const lines = shown(...much).split('\n');
    const rest = lines.filter(
      (line) => line !== '' && !/^(?:<x*>|\[std(?:out|err)\]|\[… the middle .*\])$/u.test(line),
    );
    expect(rest).toEqual([]);
  });

  test('the last line is the one of stderr if there is one', () => {
    expect(endsOf(['a\n', '!oops\n\n', 'b\n']).text().lastLine).toBe('oops');
    expect(endsOf(['a\n', 'b\n\n']).text().lastLine).toBe('b');
    expect(endsOf([]).text().lastLine).toBe('');
  });

  test('the newest of each fits in what it may take', () => {
    const much = Array.from({ length: 1_000 }, () => LINE);
    const last = endsOf([...much, '!the error\n', ...much]).last(2_000);
    expect(last).toMatch(/^\[stderr\]\nthe error\n\[stdout\]\n(?:x+\n){19}$/u);
  });
});

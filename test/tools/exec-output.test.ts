import { describe, expect, test } from 'vitest';
import { CommandOutput } from '../../src/extensions/exec/output.ts';

/** The output of pieces that came in this order; those of stderr begin with `!`. */
function outputOf(pieces: readonly string[]): CommandOutput {
  const output = new CommandOutput();
  for (const piece of pieces)
    void output.add(piece.startsWith('!') ? 'stderr' : 'stdout', Buffer.from(piece.replace(/^!/u, '')));
  return output;
}

const shown = (...pieces: readonly string[]): string => outputOf(pieces).text().output;
const LINE = `${'x'.repeat(99)}\n`;

describe('two streams', () => {
  test('are shown in the order in which they came, each change marked on a line of its own', () => {
    expect(shown('a\n', '!b\n', 'c\nd\n', '!e\n')).toBe('a\n[stderr]\nb\n[stdout]\nc\nd\n[stderr]\ne\n');
    expect(shown('Build', '!b\n', 'ing\n')).toBe('Build\n[stderr]\nb\n[stdout]\ning\n');
  });

  test('have no mark while only one of them writes', () => {
    expect(shown('!b\n', '!c\n')).toBe('b\nc\n');
    expect(shown('!b\n', 'a\n')).toBe('[stderr]\nb\n[stdout]\na\n');
  });

  test('give the last line of stderr if there is one', () => {
    expect(outputOf(['a\n', '!oops\n\n', 'b\n']).text().lastLine).toBe('oops');
    expect(outputOf(['a\n', 'b\n\n']).text().lastLine).toBe('b');
    expect(outputOf([]).text().lastLine).toBe('');
  });
});

describe('a long output', () => {
  test.each([1, 10, 300, 70_000])('keeps its beginning and its end in whole lines, in pieces of %i bytes', (size) => {
    const whole = Array.from({ length: 12_000 }, (_, i) => `${String(i).padStart(5, '0')}\n`).join('');
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
      whole.slice(i * size, i * size + size),
    );
    const { output, truncated } = outputOf(pieces).text();
    expect(truncated).toBe(true);
    expect(output).toMatch(
      /^00000\n(?:\d{5}\n)+\n\[… the middle of 72000 bytes is left out and not kept; .*\]\n\n(?:\d{5}\n)+$/u,
    );
    expect(output.endsWith('11999\n')).toBe(true);
    expect(output.length).toBeGreaterThan(13_500);
    expect(output.length).toBeLessThan(15_300);
  });

  test('shows what stderr said last, wherever it was said', () => {
    const much = Array.from({ length: 1_000 }, () => LINE);
    for (const output of [shown(...much, '!the error\n', ...much), shown('!the error\n', ...much, ...much)]) {
      expect(output).toContain('[stderr]\nthe error\n[');
      expect(output.length).toBeLessThan(15_300);
    }
  });

  test('shows no half line where something is cut', () => {
    const much = Array.from({ length: 300 }, (_, n) => `${n % 2 === 0 ? '' : '!'}<${'x'.repeat(n)}>\n`);
    const rest = shown(...much)
      .split('\n')
      .filter((line) => line !== '' && !/^(?:<x*>|\[std(?:out|err)\]|\[… the middle .*\])$/u.test(line));
    expect(rest).toEqual([]);
  });

  test('has a newest part of about the size that is asked for', () => {
    const last = outputOf([...Array.from({ length: 1_000 }, () => LINE), '!the error\n', LINE]).last(2_000);
    expect(last).toMatch(/^\[stdout\]\n(?:x+\n){18}\[stderr\]\nthe error\n\[stdout\]\nx+\n$/u);
  });
});

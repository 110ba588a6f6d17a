import { describe, expect, test } from 'vitest';
import { withMarkedHosts } from '../../src/core/security/text/look-alike-hosts.ts';
import { escapeControlChars } from '../../src/core/security/text/control-characters.ts';

describe('a text that a person is asked about', () => {
  test.each([
    ['a direction mark', 'a\u202Eb', 'a\\u{202e}b'],
    ['an isolate', 'a\u2066b', 'a\\u{2066}b'],
    ['a letter without width', 'a\u200Bb\u2060c\uFEFFd', 'a\\u{200b}b\\u{2060}c\\u{feff}d'],
    ['tags', 'a\u{E0041}\u{E007F}', 'a\\u{e0041}\\u{e007f}'],
    ['a filler', 'a\u3164\u115F\u2800b', 'a\\u{3164}\\u{115f}\\u{2800}b'],
    ['a variation selector', 'a\uFE0F\u{E0100}', 'a\\u{fe0f}\\u{e0100}'],
    ['a carriage return', 'rm -r x\recho hi', 'rm -r x\\u{d}echo hi'],
    ['an escape', '\u001B[8mhidden', '\\u{1b}[8mhidden'],
    ['piled up accents', `a${'\u0301'.repeat(5)}`, 'a\u0301\u0301\u0301\\u{301}\\u{301}'],
    ['a frame around a letter', 'a\u20DD', 'a\\u{20dd}'],
    ['another space', 'a\u00A0b\u2003c', 'a\\u{a0}b\\u{2003}c'],
    ['a tab', 'a\tb', 'a\\u{9}b'],
    ['empty lines', `ls\n${'\n'.repeat(2_600)}touch x`, 'ls\n⟨2600 empty lines⟩\ntouch x'],
    ['lines of spaces', `ls\n${' \t \n'.repeat(30)}touch x`, 'ls\n⟨30 empty lines⟩\ntouch x'],
    ['spaces', `ls${' '.repeat(900)}; touch x`, 'ls⟨900 spaces⟩; touch x'],
    ['tabs', `ls${'\t'.repeat(90)}; touch x`, 'ls⟨90 tabs⟩; touch x'],
  ])('shows %s', (_, text, shown) => {
    expect(escapeControlChars(text)).toBe(shown);
    expect(escapeControlChars(shown)).toBe(shown);
  });

  test('keeps what everybody can see: lines, indents, scripts, accents', () => {
    const text = 'def f():\n        return 1\n\n\nпривет, 日本語, é, e\u0301 ünïcode';
    expect(escapeControlChars(text)).toBe(text);
  });

  test('is read in a time that grows with its length', () => {
    const began = performance.now();
    for (const piece of ['\n ', ' \t', ' ', '\n', '\t', 'a.', 'і.', '://і', '@і']) {
      withMarkedHosts(escapeControlChars(piece.repeat(200_000 / piece.length)));
    }
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

describe('a host', () => {
  test.each([
    ['git clone https://gіthub.com/x', 'git clone https://gіthub.com ⟨really xn--gthub-n2e.com⟩/x'],
    ['ssh me@gіthub.com', 'ssh me@gіthub.com ⟨really xn--gthub-n2e.com⟩'],
    ['curl аррӏе.com', 'curl аррӏе.com ⟨really xn--80ak6aa92e.com⟩'],
    ['curl ｇithub.com', 'curl ｇithub.com ⟨really github.com⟩'],
    ['curl http://gıthub.com', 'curl http://gıthub.com ⟨really xn--gthub-n4a.com⟩'],
    ['curl http://user:pw@gіthub.com:80/', 'curl http://user:pw@gіthub.com ⟨really xn--gthub-n2e.com⟩:80/'],
    ['http://lоcalhost/', 'http://lоcalhost ⟨really xn--lcalhost-nbh⟩/'],
    ['see https://пример.рф/', 'see https://пример.рф ⟨really xn--e1afmkfd.xn--p1ai⟩/'],
  ])('with letters that look like others shows its plain form: %s', (text, marked) => {
    expect(withMarkedHosts(text)).toBe(marked);
    expect(withMarkedHosts(marked)).toBe(marked);
  });

  test.each(['cat Übung.txt', 'привет.Как дела', 'curl https://github.com/é', 'naïve.md', '日本.txt and v1.2'])(
    'is not taken for another where it is none: %s',
    (text) => {
      expect(withMarkedHosts(text)).toBe(text);
    },
  );
});

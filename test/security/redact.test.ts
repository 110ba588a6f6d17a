import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/core/security/redact/redact.ts';
import { word } from './redact-samples.ts';

const SECRET = 'p@ss "wörd"/x+y z\\1';
const redact = createRedactor([SECRET, 'plain-secret-0001']);
const html = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');

describe('a configured secret is taken out', () => {
  const forms: readonly [string, string][] = [
    ['as it is', SECRET],
    ['URL-encoded', encodeURIComponent(SECRET)],
    ['URL-encoded in small letters', encodeURIComponent(SECRET).replaceAll(/%../g, (code) => code.toLowerCase())],
    ['URL-encoded as a path', encodeURIComponent(SECRET).replaceAll('%2F', '/')],
    ['form-encoded', encodeURIComponent(SECRET).replaceAll('%20', '+')],
    ['as a query of a URL', new URLSearchParams({ key: SECRET }).toString()],
    ['JSON-encoded', JSON.stringify(SECRET)],
    ['JSON-encoded in ASCII', JSON.stringify(SECRET).replaceAll('ö', String.raw`\u00f6`)],
    ['JSON-encoded with escaped slashes', JSON.stringify(SECRET).replaceAll('/', String.raw`\/`)],
    ['as JSON inside JSON', JSON.stringify(JSON.stringify({ key: SECRET }))],
    ['as HTML', html(SECRET)],
    ['as hex', Buffer.from(SECRET).toString('hex')],
    ['as upper-case hex', Buffer.from(SECRET).toString('hex').toUpperCase()],
    ['as base64', Buffer.from(SECRET).toString('base64')],
    ['as base64url', Buffer.from(SECRET).toString('base64url')],
  ];
  test.each(forms)('%s', (_title, form) => {
    const clean = redact(`before ${form} after`);
    expect(clean).toContain('[redacted]');
    expect(clean).not.toContain(form);
    expect(clean.startsWith('before ') && clean.endsWith(' after')).toBe(true);
  });

  test('as base64 with anything before and after it', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), (before, after) => {
        expect(redact(Buffer.from(`${before}${SECRET}${after}`).toString('base64'))).toContain('[redacted]');
      }),
    );
  });

  test('as base64 and hex that are broken into lines, wherever the line ends', () => {
    const long = createRedactor(['a-secret-of-thirty-one-letters!']);
    for (let shift = 0; shift < 80; shift += 1) {
      const bytes = Buffer.from(`${'x'.repeat(shift)}a-secret-of-thirty-one-letters!${'y'.repeat(40)}`);
      for (const [coded, width] of [
        [bytes.toString('base64'), 76],
        [bytes.toString('base64'), 64],
        [bytes.toString('hex'), 60],
      ] as const) {
        for (const end of ['\n', '\r\n', '\n    ', String.raw`\n`]) {
          const wrapped = coded.replaceAll(new RegExp(`.{${width}}`, 'g'), `$&${end}`);
          expect(long(wrapped), `${shift} ${width} ${JSON.stringify(end)}`).toContain('[redacted]');
        }
      }
    }
  });

  test('also when it overlaps another', () => {
    expect(createRedactor(['first-secret-one', 'one-second-secret'])('a first-secret-one-second-secret b')).toBe(
      'a [redacted] b',
    );
  });

  test('and what stands behind the scheme of a header', () => {
    expect(createRedactor(['Bearer only-letters-here'])('sent only-letters-here today')).toBe('sent [redacted] today');
  });

  test('unless it is too short to be one', () => {
    expect(createRedactor(['short'])('a short word')).toBe('a short word');
  });

  test('and special characters in it mean nothing', () => {
    expect(createRedactor(['a.c*[d](e)+?'])('abc a.c*[d](e)+? aacd')).toBe('abc [redacted] aacd');
  });

  test('whatever the secret and whatever stands around it, and a second time changes nothing', () => {
    const text = fc.string({ maxLength: 30, unit: 'grapheme' });
    fc.assert(
      fc.property(fc.string({ minLength: 8, maxLength: 40 }), text, text, (secret, before, after) => {
        fc.pre(!'[redacted]'.includes(secret));
        const clean = createRedactor([secret])(before + secret + after);
        expect(clean).not.toContain(secret);
        expect(createRedactor([secret])(clean)).toBe(clean);
      }),
    );
  });
});

describe('what a cut has left of a secret', () => {
  const token = `ghp_${word(36)}`;
  test.each([
    ['of a configured one', 'it is plain-secret…', 'it is [redacted]…'],
    [
      'of one in base64',
      `it is ${Buffer.from('plain-secret-0001').toString('base64').slice(0, 14)}… and`,
      'it is [redacted]… and',
    ],
    ['of a token', `key=${token.slice(0, 20)}…`, 'key=[redacted: github token]…'],
    [
      'in the middle of an output',
      `key=${token.slice(0, 20)}\n\n[… 5 characters …]`,
      'key=[redacted: github token]\n\n[… 5 characters …]',
    ],
    ['if it is next to nothing', `it is plain…, and ${token.slice(0, 8)}…`, `it is plain…, and ${token.slice(0, 8)}…`],
    [
      'if it was none',
      'sk-ant-api03-… or ghp_xxxxxxxxxxxx… or task-0123456789…',
      'sk-ant-api03-… or ghp_xxxxxxxxxxxx… or task-0123456789…',
    ],
  ])('%s', (_title, text, clean) => {
    expect(redact(text)).toBe(clean);
  });
});

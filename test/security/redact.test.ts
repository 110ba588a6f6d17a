import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/core/security/redact/redact.ts';

const SECRET = 'p@ss "wörd"/x+y z\\1';
const redact = createRedactor([SECRET, 'plain-secret-0001']);
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

  test('also when it overlaps another', () => {
    expect(createRedactor(['first-secret-one', 'one-second-secret'])('a first-secret-one-second-secret b')).toBe(
      'a [redacted] b',
    );
  });

  test('and what stands behind the scheme of a header', () => {
    expect(createRedactor(['Bearer only-letters-here'])('sent only-letters-here today')).toBe('sent [redacted] today');
  });

  test('where a cut left nothing but its beginning', () => {
    expect(redact('key: plain-secret-0…')).toBe('key: [redacted]…');
    expect(redact('plain-se… and plain and …')).toBe('[redacted]… and plain and …');
    expect(redact('plain-s…')).toBe('plain-s…');
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

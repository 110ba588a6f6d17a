import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/security/redact.ts';

const SECRET = 'p@ss "wörd"/x+y z\\1';
const redact = createRedactor([SECRET, 'plain-secret-0001']);

describe('a configured secret is taken out', () => {
  const forms: readonly [string, string][] = [
    ['as it is', SECRET],
    ['URL-encoded', encodeURIComponent(SECRET)],
    ['form-encoded', encodeURIComponent(SECRET).replaceAll('%20', '+')],
    ['JSON-encoded', JSON.stringify(SECRET)],
    ['as JSON inside JSON', JSON.stringify(JSON.stringify({ key: SECRET }))],
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

  test('unless it is too short to be one', () => {
    expect(createRedactor(['short'])('a short word')).toBe('a short word');
  });

  test('and special characters in it mean nothing', () => {
    expect(createRedactor(['a.c*[d](e)+?'])('abc a.c*[d](e)+? aacd')).toBe('abc [redacted] aacd');
  });
});

describe('a token is known by its shape', () => {
  const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH';
  const tokens: readonly [string, string][] = [
    ['OpenAI', `sk-${digits}`],
    ['OpenAI project', `sk-proj-${digits}`],
    ['Anthropic', `sk-ant-api03-${digits}`],
    ['GitHub', `ghp_${digits.slice(0, 36)}`],
    ['GitHub fine-grained', `github_pat_${digits}`],
    ['Slack bot', `xoxb-${digits}`],
    ['Slack app', `xapp-1-${digits}`],
    ['Telegram', `1234567890:${digits.slice(0, 35)}`],
    ['AWS', 'AKIAIOSFODNN7EXAMPLE'],
  ];
  test.each(tokens)('%s', (_title, token) => {
    expect(redact(`key=${token}, next`)).toBe('key=[redacted], next');
  });

  test('a bearer token keeps its scheme', () => {
    expect(redact('Authorization: Bearer abcdef0123456789.xyz')).toBe('Authorization: Bearer [redacted]');
  });

  test('a private key block goes as a whole', () => {
    const block = `-----BEGIN RSA PRIVATE KEY-----\n${`${'QUJD'.repeat(16)}\n`.repeat(3)}-----END RSA PRIVATE KEY-----`;
    expect(redact(`a\n${block}\nb`)).toBe('a\n[redacted]\nb');
  });

  test('a private key block whose end was cut off goes too', () => {
    const block = `-----BEGIN PRIVATE KEY-----\n${`${'QUJD'.repeat(16)}\n`.repeat(3)}`;
    expect(redact(`a\n${block}And then: more.`)).toBe('a\n[redacted]And then: more.');
  });
});

describe('look-alikes stay', () => {
  test.each([
    'task-0123456789abcdefghijklmnop',
    'disk-2026-11-07-backup-volume-0001',
    'sk-fading-circle-of-dots-animation',
    'sk-1234',
    'ghp_short',
    'the bearer of bad news was a man',
    'Bearer token required',
    'at 12:30:45 the process 12345678: started',
    'AKIA is a prefix',
    'xoxb- is a prefix',
    '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
    'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '-----BEGIN CERTIFICATE-----',
    'plain-secret-0002',
    'https://example.org/a?b=c%20d',
  ])('%s', (text) => {
    expect(redact(text)).toBe(text);
  });
});

test('two megabytes of hostile text take well under a second each', () => {
  const many = createRedactor(Array.from({ length: 40 }, (_, i) => `configured-secret-number-${i}`));
  for (const piece of [
    'sk-',
    'Bearer ',
    '-----BEGIN PRIVATE KEY-----\n',
    '1234567890:',
    'a b c\n',
    'configured-secret-',
  ]) {
    const text = piece.repeat(Math.floor(2_000_000 / piece.length));
    const start = performance.now();
    many(text);
    expect(performance.now() - start, piece).toBeLessThan(1_000);
  }
}, 60_000);

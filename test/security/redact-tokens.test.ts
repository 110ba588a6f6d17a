import { expect, test } from 'vitest';
import { createRedactor } from '../../src/core/security/redact/redact.ts';
import { NAMED } from '../../src/core/security/redact/named.ts';
import { TOKENS } from '../../src/core/security/redact/tokens.ts';
import { NAMED_SAMPLES, TOKEN_SAMPLES, word, type Sample } from './redact-samples.ts';

const redact = createRedactor([]);

const title = ([name, secret, around]: Sample): string =>
  `${name}: ${around === undefined ? '' : around[0].slice(-24)}${secret.slice(0, 10)}…`;

test('at least 40 kinds of token are known by their shape, and each has a sample', () => {
  const known = new Set(TOKENS.flatMap(({ names }) => names));
  expect(known.size).toBeGreaterThanOrEqual(40);
  expect(new Set(TOKEN_SAMPLES.map(([name]) => name))).toEqual(known);
  expect(new Set(NAMED_SAMPLES.map(([name]) => name))).toEqual(new Set(NAMED.flatMap(({ names }) => names)));
});

test.each(TOKEN_SAMPLES.map((sample) => [title(sample), sample] as const))('%s', (_title, [name, secret, around]) => {
  const [before, after] = around ?? ['it is ', ' there'];
  const mark = `[redacted: ${name}]`;
  expect(redact(before + secret + after)).toBe(before + mark + after);
  if (around !== undefined) return;
  for (const [open, close] of [
    ['', ''],
    ['(', ').'],
    ['"', '"'],
    ['key=', ','],
    ['**', '**'],
    ['line one\n', '\nline three'],
    ['{"text":"one\\n', '\\nthree"}'],
    ['<b>', '</b>'],
    ['\u001B[31m', '\u001B[0m'],
    ['日本語', '日本語'],
  ] as const) {
    const clean = redact(open + secret + close);
    expect(clean).toContain('[redacted');
    expect(clean).not.toContain(secret.slice(-12));
    expect(clean.startsWith(open.slice(0, 2)), clean).toBe(true);
  }
});

test.each(NAMED_SAMPLES.map((sample) => [title(sample), sample] as const))(
  '%s',
  (_title, [name, secret, [before, after] = ['', '']]) => {
    expect(redact(before + secret + after)).toBe(`${before}[redacted: ${name}]${after}`);
  },
);

test('what has the shape of a token and only a few different characters is a placeholder', () => {
  for (const body of ['x'.repeat(36), 'abca'.repeat(9)]) expect(redact(`it is ghp_${body} there`)).toContain(body);
});

test('a long token may hold equal characters by chance', () => {
  const body = `${word(60)}aaaaaaaa${word(8)}`;
  expect(redact(`it is ghr_${body} there`)).toBe('it is [redacted: github token] there');
});

test('what it returns it leaves alone', () => {
  for (const [, secret, [before, after] = ['a ', ' b']] of [...TOKEN_SAMPLES, ...NAMED_SAMPLES]) {
    const clean = redact(before + secret + after);
    expect(redact(clean)).toBe(clean);
  }
});

test('several secrets in one text all go, also side by side', () => {
  const all = TOKEN_SAMPLES.map(([, secret]) => secret);
  const clean = redact(all.join(' '));
  for (const secret of all) expect(clean).not.toContain(secret);
  expect(redact(all.join(','))).not.toMatch(/[A-Za-z0-9]{40}/);
});

test('JSON stays JSON', () => {
  for (const [, secret, [before, after] = ['a ', ' b']] of [...TOKEN_SAMPLES, ...NAMED_SAMPLES]) {
    const whole = before + secret + after;
    for (const value of [whole, { [whole]: [1, whole] }, { a: JSON.stringify({ b: whole }) }]) {
      const clean = redact(JSON.stringify(value));
      expect(clean).not.toContain(secret);
      expect(() => JSON.parse(clean) as unknown, clean).not.toThrow();
    }
  }
});

test('a token inside a value that is known by its name takes the whole value with it, under its own name', () => {
  const token = `ghp_${word(36)}`;
  expect(redact(`Authorization: Bearer ${token}`)).toBe('Authorization: Bearer [redacted: github token]');
  expect(redact(`https://me:${token}-and-more@example.org`)).toBe('https://me:[redacted: github token]@example.org');
});

const body = `${'QUJDREVGR0hJSktMTU5P'.repeat(3)}\n`.repeat(3);
const begin = (kind: string): string => `-----BEGIN ${kind}PRIVATE KEY-----`;
const end = (kind: string): string => `-----END ${kind}PRIVATE KEY-----`;

test.each(['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ', 'DSA '])('a private key block (%s) goes as a whole', (kind) => {
  expect(redact(`a\n${begin(kind)}\n${body}${end(kind)}\nb`)).toBe('a\n[redacted: private key]\nb');
});

test('a private key goes inside JSON, in a quoted mail, in a listing, in a program, and with a header of its own', () => {
  const key = `${begin('')}\n${body}${end('')}\n`;
  const json = redact(JSON.stringify({ type: 'service_account', private_key: key, client_email: 'a@b' }));
  expect(JSON.parse(json)).toMatchObject({ private_key: '[redacted: private key]\n', client_email: 'a@b' });
  for (const prefix of ['> ', '   12\t', '    ', '+']) {
    expect(redact(key.replaceAll(/^/gm, prefix))).not.toContain('QUJD');
    expect(redact(key.slice(0, -40).replaceAll(/^/gm, prefix))).not.toContain('QUJD');
  }
  expect(
    redact(
      key
        .split('\n')
        .map((line) => `"${line}\\n" +`)
        .join('\n'),
    ),
  ).not.toContain('QUJD');
  expect(redact(`${begin('RSA ')}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n${body}`)).not.toContain(
    'QUJD',
  );
});

test('a private key block goes too when its end or its beginning was cut off', () => {
  expect(redact(`a\n${begin('')}\n${body}And then: more.`)).toBe('a\n[redacted: private key]\nAnd then: more.');
  expect(redact(`and so on:\n${body}${end('')}\nb`)).toBe('and so on:\n[redacted: private key]\nb');
});

import { expect, test } from 'vitest';
import { createRedactor } from '../../src/core/security/redact/redact.ts';
import { NAMED_SAMPLES, TOKEN_SAMPLES } from './redact-samples.ts';

const redact = createRedactor(Array.from({ length: 40 }, (_, i) => `configured-secret-number-${i}`));
const MEGABYTE = 1_000_000;

/** Milliseconds of processor time. */
function cost(text: string, partial: boolean): number {
  const before = process.threadCpuUsage();
  redact(text, { partial });
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

const samples = [...TOKEN_SAMPLES, ...NAMED_SAMPLES].map(
  ([, secret, [before, after] = ['', '']]) => before + secret + after,
);
/** What the samples begin with, up to the secret. */
const starts = [...TOKEN_SAMPLES, ...NAMED_SAMPLES].map(([, secret, around]) =>
  around === undefined ? secret.replace(/(?<=[-_.:/]|^[A-Z]{4}).*$/, '') : around[0],
);
const pieces: readonly string[] = [
  'Bearer ',
  '-----BEGIN PRIVATE KEY-----\n',
  '-----END PRIVATE KEY-----\n',
  '-----BEGIN PRIVATE KEY-----\nQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo\n',
  '1234567890:',
  '1234567890',
  'a b c\n',
  'a\n',
  'configured-secret-',
  'configured-secret-number-1',
  'eyJ-',
  'eyJ+',
  'eyJhbGciOiJIUzI1NiJ9+',
  'sk-a+',
  'a=1; ',
  'cookie: a=1; ',
  'cookie:a=b;',
  '://a:',
  '://',
  'api_key=',
  '_API_KEY=a1',
  '_TOKEN=',
  'password=a password=',
  'machine a login a ',
  'machine a  login ',
  `${'Y29uZmlndXJlZC1zZWNyZXQ'.repeat(3)}\n`,
  `${'f'.repeat(64)}\n`,
  String.raw`\n`,
  String.raw`\\`,
  '%3A',
  '[0;0;0m',
  '-us1',
  ':APA91b',
  'Q~',
  '.',
  '"',
  ' ',
];

test('a megabyte of anything takes under a second', () => {
  const slow: string[] = [];
  for (const piece of [...pieces, ...starts.filter((_, i) => i % 7 === 0), ...samples.filter((_, i) => i % 5 === 0)]) {
    const text = piece.repeat(Math.ceil(MEGABYTE / piece.length));
    for (const partial of [false, true]) {
      const ms = cost(text, partial);
      if (ms > 1_000) slow.push(`${JSON.stringify(piece.slice(0, 40))} ${partial} ${Math.round(ms)} ms`);
    }
  }
  expect(slow).toEqual([]);
}, 120_000);

test('a megabyte behind the beginning of anything takes under a second', () => {
  const slow: string[] = [];
  const fillings = ['a', '1', 'A1-', 'a.', 'a/', 'f0'];
  for (const [n, start] of starts.filter((each, i) => i % 11 === 0 || each.length > 12).entries()) {
    const filling = fillings[n % fillings.length] ?? 'a';
    const text = `${start}${filling.repeat(MEGABYTE / filling.length)}(`;
    const ms = cost(text, n % 2 === 0);
    if (ms > 1_000) slow.push(`${start} ${filling} ${Math.round(ms)} ms`);
  }
  expect(slow).toEqual([]);
}, 120_000);

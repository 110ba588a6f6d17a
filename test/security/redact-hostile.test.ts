import { expect, test } from 'vitest';
import { createRedactor } from '../../src/core/security/redact/redact.ts';

const redact = createRedactor(Array.from({ length: 40 }, (_, i) => `configured-secret-number-${i}`));
const MEGABYTE = 1_000_000;

test.each([
  '-----BEGIN PRIVATE KEY-----\n',
  '1234567890:',
  'configured-secret-',
  'eyJhbGciOiJIUzI1NiJ9+',
  'cookie: a=1; ',
  '://a:',
  '_TOKEN=',
  `${'f'.repeat(64)}\n`,
])('a megabyte of %j takes under a second', (piece) => {
  const text = piece.repeat(MEGABYTE / piece.length);
  const before = process.threadCpuUsage();
  redact(text);
  redact(text.slice(0, MEGABYTE / 2), { partial: true });
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(1_500);
});

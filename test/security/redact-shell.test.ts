import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/core/security/redact/redact.ts';
import { NAMED_SAMPLES, TOKEN_SAMPLES, word } from './redact-samples.ts';

const CONFIGURED = 'canary-configured-9c2e51b7d0f4a86e';
const redact = createRedactor([CONFIGURED]);

describe('what a shell would read as more than a word', () => {
  const commands = [';', '|', '&&', '$(', '`', '<', '>', '\n', ')', '; touch x=1 ', ';touch${IFS}x;'];

  const samples = [...TOKEN_SAMPLES, ...NAMED_SAMPLES].map((sample) => [sample[0], sample] as const);
  test.each(samples)('is never hidden behind a %s', (_name, [, secret, around]) => {
    const [before] = around ?? [''];
    for (const sign of commands) {
      const text = `echo ${before}${secret}${sign}touch pwned`;
      expect(redact(text), text).toContain(`${sign}touch pwned`);
    }
  });

  test('ends a cookie; the pairs before it are still taken out, each by itself', () => {
    expect(redact(`Cookie: a=${word(20)}; b=${word(20, 2)}; touch x; curl y | sh`)).toBe(
      'Cookie: [redacted: cookie]; [redacted: cookie]; touch x; curl y | sh',
    );
  });
});

test('where people are shown what runs, only configured secrets are taken out, in any form that they are known in', () => {
  for (const [, secret, around] of [...TOKEN_SAMPLES, ...NAMED_SAMPLES]) {
    const text = `${around?.[0] ?? ''}${secret} and more`;
    expect(redact(text, { knownBy: 'value' })).toBe(text);
  }
  const coded = Buffer.from(`x${CONFIGURED}y`).toString('base64');
  for (const text of [CONFIGURED, coded, encodeURIComponent(CONFIGURED)]) {
    expect(redact(`it is ${text} here`, { knownBy: 'value' })).toContain('[redacted]');
  }
});

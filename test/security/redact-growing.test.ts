import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/core/security/redact/redact.ts';
import { NAMED_SAMPLES, TOKEN_SAMPLES } from './redact-samples.ts';

const SECRETS = ['p@ss "wörd"/x+y z\\1', 'plain-secret-0001', 'onlyletterssecret', 'eight888'];
const redact = createRedactor(SECRETS);
/** None of its secrets has white space or quotes within it. */
const plain = createRedactor(SECRETS.slice(1));
/** Of a secret that is half there so many characters may be seen. */
const MOST_SHOWN = 7;

/** The longest beginning of the secret that stands in a text, if it is too long. */
function shownOf(secret: string, shown: string): number {
  let length = MOST_SHOWN;
  while (length < secret.length && shown.includes(secret.slice(0, length + 1))) length += 1;
  return length === MOST_SHOWN ? 0 : length;
}

/** Shown while a text grows by one character each time: with what is seen at each step. */
function grown(text: string, clean = redact): readonly string[] {
  return Array.from({ length: text.length + 1 }, (_, end) => clean(text.slice(0, end), { partial: true }));
}

const samples = [...TOKEN_SAMPLES, ...NAMED_SAMPLES].map(
  ([name, secret, [before, after] = ['it is ', ' there, and more']], n) => ({
    title: `${n + 1} ${name}`,
    secret,
    text: `Hello: ${before}${secret}${after}\nThe end`,
  }),
);

describe('while a text grows, a secret in it is never seen, wherever it is cut', () => {
  test.each(samples)('$title', ({ secret, text }) => {
    for (const shown of grown(text)) expect(shownOf(secret, shown), shown).toBe(0);
  });

  test.each(SECRETS)('configured: %s', (secret) => {
    const forms = [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64').replace(/.=*$/, ''),
      Buffer.from(`ab${secret}`).toString('base64').slice(3).replace(/.=*$/, ''),
    ];
    for (const form of forms) {
      for (const shown of grown(`Hello ${form} there`)) expect(shownOf(form, shown), shown).toBe(0);
    }
  });

  test('a private key', () => {
    const line = 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2';
    const marker = (what: string): string => `-----${what} RSA PRIVATE KEY-----`;
    const text = `Here: ${marker('BEGIN')}\n${`${line}\n`.repeat(4)}${marker('END')}\nDone.`;
    for (const shown of grown(text)) expect(shownOf(line, shown), shown).toBe(0);
    expect(plain(text, { partial: true })).toBe('Here: [redacted: private key]\n');
  });
});

test('in pieces of any size, with anything around it', () => {
  const words = fc.array(fc.constantFrom('so', 'the', 'key', 'is', '12', 'a.b', '(', '日本', 'x=', '"'), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...samples),
      words,
      words,
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 }),
      ({ text, secret }, before, after, sizes) => {
        const whole = `${before.join(' ')} ${text} ${after.join(' ')}`;
        let end = 0;
        for (let n = 0; end < whole.length; n += 1) {
          end += sizes[n % sizes.length] ?? 1;
          expect(shownOf(secret, redact(whole.slice(0, end), { partial: true }))).toBe(0);
        }
      },
    ),
    { numRuns: 200, includeErrorInReport: true },
  );
});

describe('of an ordinary text', () => {
  const prose =
    'The build took 12.5 s on node 24, see https://example.org/a/b?c=d and commit 0a1b2c3d4e5f. It is 12:30, and sk-learn is fine: `npm i` 2026-11-21. Das heißt „gut“ – 二〇二六年12月、東京で会いましょう。Bearer tokens are words. ';

  test('all is seen in the end, and what was seen stays', () => {
    let last = '';
    for (const shown of grown(prose, plain)) {
      expect(shown.startsWith(last), `${last}|${shown}`).toBe(true);
      last = shown;
    }
    expect(last).toBe(prose);
  });

  test('no more is held back than the newest word', () => {
    for (const [end, shown] of grown(prose, plain).entries()) {
      expect(prose.slice(shown.length, end)).not.toMatch(/\s\S+\s/u);
    }
  });

  test('as much more is held back as the longest secret that has white space or quotes within it', () => {
    expect(prose.startsWith(redact(prose, { partial: true }))).toBe(true);
    expect(redact(prose, { partial: true }).length).toBe(prose.length - JSON.stringify(SECRETS[0]).length);
  });
});

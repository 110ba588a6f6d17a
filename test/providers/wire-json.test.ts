import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { wireJson } from '../../src/core/providers/wire-json.ts';

test('a body has the bytes of JSON.stringify, also when what stands in its lists was written before', () => {
  const value = fc.anything();
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(value, fc.array(value))), value, (body, more) => {
      expect(Buffer.from(wireJson(body)).toString()).toBe(JSON.stringify(body));
      const longer = Object.fromEntries(
        Object.entries(body).map(([name, of]) => [name, Array.isArray(of) ? [...(of as unknown[]), more] : of]),
      );
      expect(Buffer.from(wireJson(longer)).toString()).toBe(JSON.stringify(longer));
    }),
  );
});

const SYSTEM = { role: 'system', content: 'Be kind.' };

test('an object in a list is written once', () => {
  let written = 0;
  const message = {
    get content() {
      written += 1;
      return 'hello';
    },
  };
  for (const more of [[], [{ content: 'more' }]]) wireJson({ messages: [SYSTEM, message, ...more] });
  expect(written).toBe(1);
});

test('what a list had before and what it has now may differ anywhere', () => {
  const entries = Array.from({ length: 12 }, (_, n) => ({ n, text: n % 5 === 0 ? 'é🪴'.repeat(40_000) : `text ${n}` }));
  const pick = fc.array(fc.constantFrom(...entries), { maxLength: 8 });
  fc.assert(
    fc.property(fc.array(pick, { maxLength: 6 }), (requests) => {
      for (const messages of requests) {
        const body = { messages, tools: messages.toReversed(), more: messages.slice(0, 3) };
        expect(Buffer.from(wireJson(body)).equals(Buffer.from(JSON.stringify(body)))).toBe(true);
      }
    }),
    { numRuns: 30 },
  );
});

test('a list that was changed in its place is written as it is now', () => {
  const messages: object[] = [SYSTEM, { content: 'one' }, { content: 'two' }];
  wireJson({ messages });
  messages[2] = { content: 'three' };
  expect(Buffer.from(wireJson({ messages })).toString()).toBe(JSON.stringify({ messages }));
});

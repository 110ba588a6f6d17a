import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { wireJson } from '../../src/providers/wire-json.ts';

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

test('an object in a list is written once', () => {
  let written = 0;
  const message = {
    get content() {
      written += 1;
      return 'hello';
    },
  };
  for (const more of [[], [{ content: 'more' }]]) wireJson({ messages: [message, ...more] });
  expect(written).toBe(1);
});

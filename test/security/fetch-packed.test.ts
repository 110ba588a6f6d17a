import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readBody } from '../../src/core/security/fetch/body.ts';

const NOTHING = Buffer.from([0, 0, 0, 0xff, 0xff]);

test('compressed data that unpacks to nothing ends, a megabyte behind the cap', async () => {
  const chunk = Buffer.concat(Array.from({ length: 10_000 }, () => NOTHING));
  let bytes = 0;
  const source = Readable.from(
    (function* () {
      yield Buffer.from([0x78, 0x9c]);
      for (let sent = 0; sent < 20_000_000; sent += chunk.length) yield chunk;
    })(),
  );
  const reading = readBody(source, {
    encoding: 'deflate',
    maxBytes: 1_000,
    host: 'page.example.com',
    onBytes: (count) => void (bytes += count),
  });
  await expect(reading).rejects.toMatchObject({ facts: { kind: 'too-large' } });
  expect(bytes).toBeLessThan(2_000_000);
});

import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { noteBody, SentBody } from '../../src/core/providers/wrappers/sent-body.ts';

test.each([0, 1, 65_535, 65_536, 65_537, 200_001])(
  'a body of %i characters, emoji at any border included, has the hash of its bytes',
  async (length) => {
    for (const shift of ['', 'x']) {
      const text = `${shift}${'🪴'.repeat(length / 2)}${length % 2 === 1 ? 'y' : ''}`;
      const sent = new SentBody();
      await sent.during(async () => noteBody(Buffer.from(text)));
      const body = createHash('sha256').update(text).digest('hex');
      expect(await sent.facts()).toEqual({ body, bytes: Buffer.byteLength(text) });
    }
  },
);

test('two calls at once are told apart, and one that sends nothing has no hash', async () => {
  const [one, two, none] = [new SentBody(), new SentBody(), new SentBody()];
  const send = async (text: string): Promise<void> => {
    await Promise.resolve();
    noteBody(Buffer.from(text));
  };
  await Promise.all([one.during(() => send('one')), two.during(() => send('two')), none.during(async () => {})]);
  expect((await one.facts()).body).not.toBe((await two.facts()).body);
  expect(await none.facts()).toEqual({ body: null, bytes: 0 });
});

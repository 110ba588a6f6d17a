import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const PNG_HEAD = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
/** As base64 this stands in every picture made here, and nowhere else. */
const MARK = PNG_HEAD.subarray(0, 15).toString('base64');

async function sendPhoto(world: World, n: number, size: number): Promise<void> {
  const before = chatOf(world).length;
  const bytes = Buffer.concat([PNG_HEAD, randomBytes(size - PNG_HEAD.length)]);
  world.telegram.addFile(`p${n}`, bytes, `photos/p${n}.png`);
  const photo = [{ file_id: `p${n}`, file_size: size }];
  world.telegram.userSays(OWNER, '', { text: undefined, photo, caption: `photo ${n}` });
  await waitFor(() => chatOf(world).length > before, { what: `an answer to photo ${n}` });
}

const imagesSent = (world: World): readonly number[] =>
  world.model.requests.map(({ body }) => JSON.stringify(body).split(MARK).length - 1);

describe.each(['openai', 'anthropic'] as const)('many photos, in %s', (dialect) => {
  test.each([
    { what: 'number', count: 23, size: 2_000, most: 20 },
    { what: 'bytes', count: 7, size: 3_500_000, most: 5 },
  ])(
    'a request carries the newest that fit by their $what, and says where others were',
    async (given) => {
      await using world = await startWorld({ dialect, config: { agent: { contextWindow: 1_000_000 } } });
      world.model.setHandler(() => 'Nice.');
      for (let n = 1; n <= given.count; n += 1) await sendPhoto(world, n, given.size);
      const sent = imagesSent(world);
      expect(Math.max(...sent)).toBe(given.most);
      expect(sent.at(-1)).toBeGreaterThanOrEqual(3);
      const last = JSON.stringify(world.model.requests.at(-1)?.body);
      expect(last).toContain('An older image, left out');
      expect(last).toContain(`photo ${given.count}`);
    },
    180_000,
  );

  test('a server that finds the request too large is asked with fewer, and nothing is trimmed for it', async () => {
    await using world = await startWorld({ dialect });
    let most = 100;
    world.model.setHandler(({ body }) =>
      JSON.stringify(body).split(MARK).length - 1 > most ? { error: { status: 413 } } : 'Fine.',
    );
    for (let n = 1; n <= 6; n += 1) await sendPhoto(world, n, 100_000);
    most = 3;
    await sendPhoto(world, 7, 100_000);
    expect(chatOf(world)).toHaveLength(7);
    expect(chatOf(world).every((text) => text === 'Fine.')).toBe(true);
    const sent = imagesSent(world);
    expect(sent.at(-2)).toBe(7);
    expect(sent.at(-1)).toBeLessThanOrEqual(3);
    expect(sent.at(-1)).toBeGreaterThan(0);
    const tape = await world.tape(`telegram:${OWNER}`);
    expect(tape.filter(({ kind }) => kind === 'trim')).toEqual([]);
  }, 180_000);
});

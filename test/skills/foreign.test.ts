import { expect, test } from 'vitest';
import { openShelf } from './shelf.ts';

test('a skill counts as written by others, unless it comes with the assistant or a person vouches for it', async () => {
  await using shelf = await openShelf();
  for (const place of ['workspace/mine', 'workspace/vouched', 'user/theirs', 'bundled/ours']) {
    await shelf.skill(place, `name: ${place.split('/')[1]}\ndescription: x`);
  }
  await shelf.agree();
  const skills = await shelf.open({ entries: { vouched: { enabled: true, trusted: true, env: {} } } }).read();
  expect(Object.fromEntries(skills.map(({ name, foreign }) => [name, foreign]))).toEqual({
    mine: true,
    ours: false,
    theirs: true,
    vouched: false,
  });
});

import { expect, test } from 'vitest';
import { openShelf } from './skills-world.ts';

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

test('a skill of another program is found, and used only as long as it is what a person said yes to', async () => {
  await using shelf = await openShelf();
  await shelf.skill('bundled/weather', 'name: weather\ndescription: Ours.');
  await shelf.skill('user/weather', 'name: weather\ndescription: Theirs.');
  const catalog = shelf.open();
  const seen = async () => {
    const { skills, found } = await catalog.survey();
    return { used: skills.map(({ source }) => source), found: found.map(({ name, changed }) => ({ name, changed })) };
  };
  expect(await seen()).toEqual({ used: ['package'], found: [{ name: 'weather', changed: false }] });
  await shelf.agree();
  expect(await seen()).toEqual({ used: ['user'], found: [] });
  await shelf.skill('user/weather', 'name: weather\ndescription: Theirs.', 'Do something else.\n');
  expect(await seen()).toEqual({ used: ['package'], found: [{ name: 'weather', changed: true }] });
  expect(shelf.lines).toContainEqual({
    level: 'info',
    message:
      'skills of other programs were found and are not used; to use one, run: npm run assistant -- skills enable NAME',
    fields: { count: 1, names: 'weather' },
  });
});

test('a person vouches for a skill of another program by its name in the settings', async () => {
  await using shelf = await openShelf();
  await shelf.skill('user/go', 'name: go\ndescription: x');
  const { skills, found } = await shelf.open({ entries: { go: { enabled: true, trusted: true, env: {} } } }).survey();
  expect([skills.length, found.length]).toEqual([1, 0]);
});

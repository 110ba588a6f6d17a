import { expect, test } from 'vitest';
import { openSkillsWorld } from './skills-world.ts';

test('a skill counts as written by others, unless it comes with the assistant or a person vouches for it', async () => {
  await using world = await openSkillsWorld();
  for (const place of ['workspace/mine', 'workspace/vouched', 'user/theirs', 'bundled/ours']) {
    await world.skill(place, `name: ${place.split('/')[1]}\ndescription: x`);
  }
  await world.agree();
  const skills = await world.open({ entries: { vouched: { enabled: true, trusted: true, env: {} } } }).read();
  expect(Object.fromEntries(skills.map(({ name, foreign }) => [name, foreign]))).toEqual({
    mine: true,
    ours: false,
    theirs: true,
    vouched: false,
  });
});

test('a skill of another program is found, and used only as long as it is what a person said yes to', async () => {
  await using world = await openSkillsWorld();
  await world.skill('bundled/weather', 'name: weather\ndescription: Ours.');
  await world.skill('user/weather', 'name: weather\ndescription: Theirs.');
  const catalog = world.open();
  const seen = async () => {
    const { skills, found } = await catalog.survey();
    return { used: skills.map(({ source }) => source), found: found.map(({ name, changed }) => ({ name, changed })) };
  };
  expect(await seen()).toEqual({ used: ['package'], found: [{ name: 'weather', changed: false }] });
  await world.agree();
  expect(await seen()).toEqual({ used: ['user'], found: [] });
  await world.skill('user/weather', 'name: weather\ndescription: Theirs.', 'Do something else.\n');
  expect(await seen()).toEqual({ used: ['package'], found: [{ name: 'weather', changed: true }] });
  expect(world.lines).toContainEqual({
    level: 'info',
    message:
      'skills of other programs were found and are not used; to use one, run: npm run assistant -- skills enable NAME',
    fields: { count: 1, names: 'weather' },
  });
});

test('a person vouches for a skill of another program by its name in the settings', async () => {
  await using world = await openSkillsWorld();
  await world.skill('user/go', 'name: go\ndescription: x');
  const { skills, found } = await world.open({ entries: { go: { enabled: true, trusted: true, env: {} } } }).survey();
  expect([skills.length, found.length]).toEqual([1, 0]);
});

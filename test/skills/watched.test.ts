import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SkillCatalog } from '../../src/core/skills/catalog.ts';
import { WatchedStamps } from '../../src/core/skills/watched-stamps.ts';
import { openSkillsWorld, ordinary } from './skills-world.ts';

const noneLeft = (): never => {
  throw Object.assign(new Error('no watches left'), { code: 'ENOSPC' });
};

async function names(catalog: SkillCatalog): Promise<string> {
  return (await catalog.current()).map(({ name }) => name).join(' ');
}

describe.each([
  ['where the system watches', () => new WatchedStamps()],
  ['where the system has no watches left', () => new WatchedStamps(noneLeft)],
])('%s', (_where, watching) => {
  test('a skill that was edited, added, moved or removed counts at the beginning of the next turn', async () => {
    await using world = await openSkillsWorld();
    await world.skill('workspace/one', ordinary('one'));
    using catalog = world.open({ watched: watching() });
    for (let turn = 0; turn < 3; turn += 1) expect(await names(catalog)).toBe('one');
    await world.skill('workspace/one', ordinary('first'));
    await expect.poll(() => names(catalog)).toBe('first');
    await world.skill('workspace/group/two', ordinary('two'));
    await expect.poll(() => names(catalog)).toBe('first two');
    await world.skill('workspace/group/two', ordinary('second'));
    await expect.poll(() => names(catalog)).toBe('first second');
    await rename(join(world.workspace, 'group'), join(world.workspace, '.group'));
    await expect.poll(() => names(catalog)).toBe('first');
    await rm(join(world.workspace, 'one/SKILL.md'));
    await expect.poll(() => names(catalog)).toBe('');
  });
});

test('while nothing changes the same skills come without a look at each of them', async () => {
  await using world = await openSkillsWorld();
  await world.skill('workspace/one', ordinary('one'));
  using watched = new WatchedStamps();
  const catalog = world.open({ watched });
  const first = await catalog.current();
  await catalog.current();
  expect(watched.isCurrent).toBe(process.platform === 'linux');
  expect(await catalog.current()).toBe(first);
});

test('a folder of skills that was replaced with all that lies in it is seen at once', async () => {
  await using world = await openSkillsWorld();
  await world.skill('workspace/one', ordinary('one'));
  await world.skill('other/two', ordinary('two'));
  using catalog = world.open();
  for (let turn = 0; turn < 3; turn += 1) expect(await names(catalog)).toBe('one');
  await rename(world.workspace, `${world.workspace}-before`);
  await rename(join(world.path, 'other'), world.workspace);
  expect(await names(catalog)).toBe('two');
});

test('a program that a skill needs counts from the next turn on', async () => {
  await using world = await openSkillsWorld();
  await world.skill('workspace/one', ordinary('one', 'metadata: {"openclaw":{"requires":{"bins":["frob"]}}}'));
  using catalog = world.open();
  for (let turn = 0; turn < 3; turn += 1) expect((await catalog.current())[0]?.missing).toEqual(['program frob']);
  await world.program('frob');
  expect((await catalog.current())[0]?.missing).toEqual([]);
});

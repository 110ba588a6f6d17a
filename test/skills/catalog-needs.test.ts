import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SkillCatalogOptions } from '../../src/core/skills/catalog.ts';
import { openSkillsWorld, ordinary, type SkillsWorld } from './skills-world.ts';

async function missing(
  world: SkillsWorld,
  metadata: string,
  options: Partial<SkillCatalogOptions> = {},
): Promise<readonly string[] | undefined> {
  await world.skill('workspace/one', ordinary('one', `metadata: ${metadata}`));
  return (await world.open(options).read())[0]?.missing;
}

describe('programs', () => {
  test('must be on the PATH and may be run', async () => {
    await using world = await openSkillsWorld();
    await world.program('here');
    await chmod(await world.put('bin/text', ''), 0o644);
    expect(await missing(world, '{assistant: {requires: {bins: [here, text, gone]}}}')).toEqual([
      'program text',
      'program gone',
    ]);
  });

  test('of several one is enough', async () => {
    await using world = await openSkillsWorld();
    expect(await missing(world, '{assistant: {requires: {anyBins: [a, b]}}}')).toEqual(['program a or b']);
    await world.program('b');
    expect(await missing(world, '{assistant: {requires: {anyBins: [a, b]}}}')).toEqual([]);
  });

  test('with a slash are looked for in the skill itself', async () => {
    await using world = await openSkillsWorld();
    await chmod(await world.put('workspace/one/bin/tool', ''), 0o755);
    expect(await missing(world, '{assistant: {requires: {bins: [./bin/tool, ./bin/other]}}}')).toEqual([
      'program ./bin/other',
    ]);
  });

  test('relative folders of the PATH and a PATH that is not set hold none', async () => {
    await using world = await openSkillsWorld();
    await world.program('here');
    const needs = '{assistant: {requires: {bins: [here]}}}';
    expect(await missing(world, needs, { env: { PATH: '.:bin:' } })).toEqual(['program here']);
    expect(await missing(world, needs, { env: {} })).toEqual(['program here']);
  });

  test('that were installed or removed meanwhile are seen by the next read', async () => {
    await using world = await openSkillsWorld();
    await world.skill('workspace/one', ordinary('one', 'requires: {bins: [late]}'));
    const catalog = world.open();
    expect(await catalog.read()).toMatchObject([{ missing: ['program late'] }]);
    await world.program('late');
    expect(await catalog.read()).toMatchObject([{ missing: [] }]);
  });
});

describe('variables', () => {
  test('count from the process or from the settings of the skill, empty ones do not', async () => {
    await using world = await openSkillsWorld();
    const needs = '{assistant: {requires: {env: [A_KEY, B_KEY, C_KEY, toString]}}}';
    const env = { A_KEY: 'x', C_KEY: '' };
    const entries = { one: { enabled: true, env: { B_KEY: 'y' } } };
    expect(await missing(world, needs, { env, entries })).toEqual(['variable C_KEY', 'variable toString']);
  });
});

describe('settings', () => {
  test('must be there and true', async () => {
    await using world = await openSkillsWorld();
    const config = { channels: { discord: { token: 'x', off: false, none: null, list: [], map: {} } }, on: true };
    const paths = ['on', 'channels.discord.token', 'channels.discord', 'constructor', 'on.more', 'channels.slack'];
    const empty = ['off', 'none', 'list', 'map'].map((key) => `channels.discord.${key}`);
    const needs = `{assistant: {requires: {config: [${[...paths, ...empty].join(', ')}]}}}`;
    expect(await missing(world, needs, { config })).toEqual(
      ['constructor', 'on.more', 'channels.slack', ...empty].map((path) => `setting ${path}`),
    );
  });
});

describe('systems', () => {
  test.each([
    ['[darwin]', ['system darwin']],
    ['[darwin, win32]', ['system darwin or win32']],
    ['[linux, darwin]', []],
    ['[]', []],
  ])('%s on Linux', async (os, expected) => {
    await using world = await openSkillsWorld();
    expect(await missing(world, `{assistant: {os: ${os}}}`)).toEqual(expected);
  });
});

test('a skill that lacks something can be read', async () => {
  await using world = await openSkillsWorld();
  await world.skill('workspace/one', ordinary('one', 'requires: {bins: [gone]}'));
  const catalog = world.open();
  expect(await catalog.load('one')).toMatchObject({ text: 'Do it.\n', skill: { missing: ['program gone'] } });
  expect(catalog.folders()).toEqual([join(world.workspace, 'one')]);
});

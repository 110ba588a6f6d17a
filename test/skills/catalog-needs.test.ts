import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SkillCatalogOptions } from '../../src/skills/catalog.ts';
import { openShelf, ordinary, type Shelf } from './skills-world.ts';

async function missing(
  shelf: Shelf,
  metadata: string,
  options: Partial<SkillCatalogOptions> = {},
): Promise<readonly string[] | undefined> {
  await shelf.skill('workspace/one', ordinary('one', `metadata: ${metadata}`));
  return (await shelf.open(options).read())[0]?.missing;
}

describe('programs', () => {
  test('must be on the PATH and may be run', async () => {
    await using shelf = await openShelf();
    await shelf.program('here');
    await chmod(await shelf.put('bin/text', ''), 0o644);
    expect(await missing(shelf, '{assistant: {requires: {bins: [here, text, gone]}}}')).toEqual([
      'program text',
      'program gone',
    ]);
  });

  test('of several one is enough', async () => {
    await using shelf = await openShelf();
    expect(await missing(shelf, '{assistant: {requires: {anyBins: [a, b]}}}')).toEqual(['program a or b']);
    await shelf.program('b');
    expect(await missing(shelf, '{assistant: {requires: {anyBins: [a, b]}}}')).toEqual([]);
  });

  test('with a slash are looked for in the skill itself', async () => {
    await using shelf = await openShelf();
    await chmod(await shelf.put('workspace/one/bin/tool', ''), 0o755);
    expect(await missing(shelf, '{assistant: {requires: {bins: [./bin/tool, ./bin/other]}}}')).toEqual([
      'program ./bin/other',
    ]);
  });

  test('relative folders of the PATH and a PATH that is not set hold none', async () => {
    await using shelf = await openShelf();
    await shelf.program('here');
    const needs = '{assistant: {requires: {bins: [here]}}}';
    expect(await missing(shelf, needs, { env: { PATH: '.:bin:' } })).toEqual(['program here']);
    expect(await missing(shelf, needs, { env: {} })).toEqual(['program here']);
  });

  test('that were installed or removed meanwhile are seen by the next read', async () => {
    await using shelf = await openShelf();
    await shelf.skill('workspace/one', ordinary('one', 'requires: {bins: [late]}'));
    const catalog = shelf.open();
    expect(await catalog.read()).toMatchObject([{ missing: ['program late'] }]);
    await shelf.program('late');
    expect(await catalog.read()).toMatchObject([{ missing: [] }]);
  });
});

describe('variables', () => {
  test('count from the process or from the settings of the skill, empty ones do not', async () => {
    await using shelf = await openShelf();
    const needs = '{assistant: {requires: {env: [A_KEY, B_KEY, C_KEY, toString]}}}';
    const env = { A_KEY: 'x', C_KEY: '' };
    const entries = { one: { enabled: true, env: { B_KEY: 'y' } } };
    expect(await missing(shelf, needs, { env, entries })).toEqual(['variable C_KEY', 'variable toString']);
  });
});

describe('settings', () => {
  test('must be there and true', async () => {
    await using shelf = await openShelf();
    const config = { channels: { discord: { token: 'x', off: false, none: null, list: [], map: {} } }, on: true };
    const paths = ['on', 'channels.discord.token', 'channels.discord', 'constructor', 'on.more', 'channels.slack'];
    const empty = ['off', 'none', 'list', 'map'].map((key) => `channels.discord.${key}`);
    const needs = `{assistant: {requires: {config: [${[...paths, ...empty].join(', ')}]}}}`;
    expect(await missing(shelf, needs, { config })).toEqual(
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
    await using shelf = await openShelf();
    expect(await missing(shelf, `{assistant: {os: ${os}}}`)).toEqual(expected);
  });
});

test('a skill that lacks something can be read', async () => {
  await using shelf = await openShelf();
  await shelf.skill('workspace/one', ordinary('one', 'requires: {bins: [gone]}'));
  const catalog = shelf.open();
  expect(await catalog.load('one')).toMatchObject({ text: 'Do it.\n', skill: { missing: ['program gone'] } });
  expect(catalog.folders()).toEqual([join(shelf.workspace, 'one')]);
});

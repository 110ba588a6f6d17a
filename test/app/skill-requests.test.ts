import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { strToU8, zipSync, type Zippable } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { unzipSkill } from '../../src/core/skills/zip.ts';
import { failureOf } from '../config/temporary-home.ts';
import { startWorld, type World } from '../support/world.ts';

const skillText = (name: string, body = 'Do it.', more = ''): string =>
  `---\nname: ${name}\ndescription: Makes tea when asked.\n${more}---\n\n${body}\n`;

async function put(world: World, name: string, text: string): Promise<void> {
  await mkdir(join(world.workspace, 'skills', name), { recursive: true });
  await writeFile(join(world.workspace, 'skills', name, 'SKILL.md'), text);
}

describe('skills', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world[Symbol.asyncDispose]());
  const list = () => world.assistant.call('skillsList', {});
  const config = async (): Promise<object> =>
    z.looseObject({}).parse(JSON.parse(await readFile(join(world.home, 'config.json'), 'utf8')));
  const one = async (name: string) => (await list()).find((skill) => skill.name === name);

  test('are listed with what they need and how to get it', async () => {
    const needs = 'metadata: {"requires": {"bins": ["teapot9"], "env": ["TEA_KEY"]}}\n';
    await put(world, 'tea', skillText('tea', 'Do it.', needs));
    expect(await one('tea')).toMatchObject({
      source: 'workspace',
      enabled: true,
      found: false,
      missing: [
        { what: 'program teapot9', how: null },
        { what: 'variable TEA_KEY', how: expect.stringContaining('config set skills.entries.tea.env.TEA_KEY VALUE') },
      ],
    });
    expect((await one('memory'))?.source).toBe('package');
  });

  test('are switched off and on in the configuration, in force with the next prompt', async () => {
    await put(world, 'coffee', skillText('coffee'));
    const prompt = async (): Promise<string> =>
      (await world.assistant.call('prompt', { session: 'terminal:main' })).layers.map(({ text }) => text).join('\n');
    expect(await prompt()).toContain('coffee');
    await world.assistant.call('skillsSet', { name: 'coffee', enabled: false });
    expect((await one('coffee'))?.enabled).toBe(false);
    expect(await prompt()).not.toContain('coffee');
    expect(JSON.parse(await readFile(join(world.home, 'config.json'), 'utf8'))).toMatchObject({
      skills: { disabled: ['coffee'] },
    });
    await world.assistant.call('skillsSet', { name: 'coffee', enabled: true });
    expect((await one('coffee'))?.enabled).toBe(true);
    expect(await prompt()).toContain('coffee');
  });

  test('that two people switch off at once are both off, and those that a hand switched off stay off', async () => {
    const names = ['milk', 'soup', 'bread'];
    for (const name of names) await put(world, name, skillText(name));
    await writeFile(
      join(world.home, 'config.json'),
      JSON.stringify({ ...(await config()), skills: { disabled: ['bread'] } }),
    );
    const off = (name: string) => world.assistant.call('skillsSet', { name, enabled: false });
    await Promise.all([off('milk'), off('soup')]);
    expect(await config()).toMatchObject({ skills: { disabled: ['bread', 'milk', 'soup'] } });
    for (const name of names) expect((await one(name))?.enabled).toBe(false);
  });

  test('stay as they are when the configuration is wrong meanwhile', async () => {
    const before = await readFile(join(world.home, 'config.json'), 'utf8');
    await writeFile(join(world.home, 'config.json'), before.replace(/"disabled":\s*\[/u, '"disabled": [7, '));
    const set = world.assistant.call('skillsSet', { name: 'soup', enabled: true });
    const { message } = await failureOf(set);
    await writeFile(join(world.home, 'config.json'), before);
    expect(message).toContain('skills.disabled');
    expect((await one('soup'))?.enabled).toBe(false);
  });

  test('are removed from the workspace and from nowhere else', async () => {
    await put(world, 'juice', skillText('juice'));
    await world.assistant.call('skillsRemove', { name: 'juice' });
    expect(await one('juice')).toBeUndefined();
    const bundled = world.assistant.call('skillsRemove', { name: 'memory' });
    expect((await failureOf(bundled)).code).toBe('skill-not-removable');
    const unknown = world.assistant.call('skillsRemove', { name: 'juice' });
    expect((await failureOf(unknown)).message).toBe('There is no skill "juice".');
  });

  test('of an upload that is gone are not installed', async () => {
    expect((await failureOf(world.assistant.call('skillsInstall', { upload: 'none' }))).message).toBe(
      'The file is not kept any more. Upload it again.',
    );
  });
});

describe('an archive', () => {
  const zip = (files: Zippable): Uint8Array => zipSync(files);

  test('of a folder or of what is in one gives the files, and which of them may be run', () => {
    const script: Zippable[string] = [strToU8('#!/bin/sh\n'), { os: 3, attrs: 0o100_755 << 16 }];
    const files = {
      'tea/SKILL.md': strToU8(skillText('tea')),
      'tea/bin/make.sh': script,
      '__MACOSX/tea/._x': strToU8(''),
    };
    expect(unzipSkill(zip(files))).toMatchObject({
      folderName: 'tea',
      files: [
        { path: 'SKILL.md', executable: false },
        { path: 'bin/make.sh', executable: true },
      ],
    });
    expect(unzipSkill(zip({ 'SKILL.md': strToU8('x') })).files.map(({ path }) => path)).toEqual(['SKILL.md']);
  });

  test.each(['../evil', 'tea/../../evil', '/etc/evil', 'tea\\..\\evil', 'C:evil', 'tea//x', 'a\u0000b'])(
    'that names the place %j is refused',
    (path) => {
      const given = zip({ 'SKILL.md': strToU8('x'), [path]: strToU8('x') });
      expect(() => unzipSkill(given)).toThrow('is not a place inside of its folder');
    },
  );

  test('with a link is refused', () => {
    const link: Zippable[string] = [strToU8('/etc/passwd'), { os: 3, attrs: 0o120_777 << 16 }];
    expect(() => unzipSkill(zip({ 'SKILL.md': strToU8('x'), secret: link }))).toThrow('"secret" is a link.');
  });

  test('that unpacks to too much, or to too many files, is refused before it is unpacked', () => {
    const bomb = zip({ 'SKILL.md': strToU8('x'), a: new Uint8Array(40_000_000), b: new Uint8Array(40_000_000) });
    expect(bomb.length).toBeLessThan(200_000);
    expect(() => unzipSkill(bomb)).toThrow('unpacks to more than 56 MB');
    const many = Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`${n}.txt`, strToU8('')]));
    expect(() => unzipSkill(zip(many))).toThrow('more than 500 files');
  });

  test('whose declared sizes lie never gives more than it declares', () => {
    const honest = zip({ 'SKILL.md': strToU8('x'), a: new Uint8Array(5_000_000) });
    const view = new DataView(honest.buffer, honest.byteOffset);
    // Both places that say how large `a` is: in front of it, and in the directory at the end.
    for (let at = 0; at < honest.length - 4; at += 1)
      if (view.getUint32(at, true) === 5_000_000) view.setUint32(at, 10, true);
    const sizes = ((): readonly number[] => {
      try {
        return unzipSkill(honest).files.map(({ bytes }) => bytes.length);
      } catch {
        return [];
      }
    })();
    expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(10);
  });

  test.each([strToU8('no zip at all'), new Uint8Array(), zip({ a: strToU8('x') }).subarray(0, 30)])(
    'that is broken is refused with one sentence (%#)',
    (bytes) => {
      expect(() => unzipSkill(bytes)).toThrow(/^This archive is not taken: It cannot be read as a zip archive/u);
    },
  );
});

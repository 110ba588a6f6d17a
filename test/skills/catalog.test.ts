import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { limitTests } from './catalog-limits.ts';
import { openSkillsWorld, ordinary } from './skills-world.ts';

describe('finding skills', () => {
  test('folders with a SKILL.md or skill.md in all roots are skills, by name, with their place', async () => {
    await using world = await openSkillsWorld();
    await world.skill('bundled/weather', ordinary('weather'));
    await world.put('user/notes/skill.md', '---\nname: notes\ndescription: Notes.\n---\nText');
    await world.agree();
    await world.skill('workspace/abc', ordinary('abc'));
    const skills = await world.open().read();
    expect(skills.map(({ name, source }) => [name, source])).toEqual([
      ['abc', 'workspace'],
      ['notes', 'user'],
      ['weather', 'package'],
    ]);
    expect(skills[1]).toMatchObject({
      folder: join(world.user, 'notes'),
      file: join(world.user, 'notes/skill.md'),
      description: 'Notes.',
      missing: [],
    });
  });

  test('roots that do not exist hold nothing', async () => {
    await using world = await openSkillsWorld();
    const catalog = world.open();
    expect(await catalog.survey()).toEqual({ skills: [], disabled: [], found: [], warnings: [] });
    expect(await catalog.load('any')).toBeUndefined();
    expect(catalog.folders()).toEqual([]);
  });

  test('groups are entered to the fourth level, skills are not', async () => {
    await using world = await openSkillsWorld();
    await world.skill('workspace/a/b/c/four', ordinary('four'));
    await world.skill('workspace/a/b/c/d/five', ordinary('five'));
    await world.skill('workspace/outer', ordinary('outer'));
    await world.skill('workspace/outer/inner', ordinary('inner'));
    expect((await world.open().read()).map(({ name }) => name)).toEqual(['four', 'outer']);
  });

  test('names with a dot in front, node_modules, and a SKILL.md in the root itself are passed by', async () => {
    await using world = await openSkillsWorld();
    for (const folder of ['.git/x', '.hidden', 'node_modules/pkg', '.']) {
      await world.skill(join('workspace', folder), ordinary('nothing'));
    }
    expect(await world.open().survey()).toEqual({ skills: [], disabled: [], found: [], warnings: [] });
  });

  test('the first root has a name first; the other is reported once', async () => {
    await using world = await openSkillsWorld();
    await world.skill('bundled/weather', ordinary('weather'));
    await world.skill('workspace/mine', ordinary('weather'));
    const catalog = world.open();
    expect(await catalog.read()).toMatchObject([{ name: 'weather', source: 'workspace' }]);
    await world.skill('workspace/new', ordinary('new'));
    expect(await catalog.read()).toHaveLength(2);
    const { warnings } = await catalog.survey();
    expect(warnings).toEqual([
      `The skill weather in ${world.bundled}/weather is not used: the one in ${world.workspace}/mine has the same name and comes first.`,
    ]);
    expect(world.lines.filter(({ level }) => level === 'warn')).toEqual([
      { level: 'warn', message: 'skills: warning', fields: { reason: warnings[0] } },
    ]);
  });

  test('what the settings turn off is known and left out', async () => {
    await using world = await openSkillsWorld();
    for (const name of ['one', 'two', 'three', 'constructor']) await world.skill(`user/${name}`, ordinary(name));
    await world.agree();
    const catalog = world.open({ disabled: ['one'], entries: { two: { enabled: false, env: {} } } });
    const { skills, disabled } = await catalog.survey();
    expect(skills.map(({ name }) => name)).toEqual(['constructor', 'three']);
    expect(disabled.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(await catalog.load('one')).toBeUndefined();
    expect(catalog.folders()).toEqual([join(world.user, 'constructor'), join(world.user, 'three')]);
  });
});

describe('changes', () => {
  test('are seen by the next read: new, changed, renamed and removed skills, new roots', async () => {
    await using world = await openSkillsWorld();
    const catalog = world.open();
    const names = async (): Promise<readonly string[]> => (await catalog.read()).map(({ name }) => name);
    expect(await names()).toEqual([]);
    await world.skill('workspace/one', ordinary('one'));
    expect(await names()).toEqual(['one']);
    await world.skill('workspace/group/two', ordinary('two'));
    expect(await names()).toEqual(['one', 'two']);
    await world.skill('workspace/one', ordinary('first'));
    expect(await names()).toEqual(['first', 'two']);
    await rename(join(world.workspace, 'group'), join(world.workspace, '.group'));
    expect(await names()).toEqual(['first']);
    await rm(join(world.workspace, 'one/SKILL.md'));
    expect(await names()).toEqual([]);
    await rm(world.workspace, { recursive: true });
    expect(await names()).toEqual([]);
  });

  test('nothing changed gives the very same skills', async () => {
    await using world = await openSkillsWorld();
    await world.skill('workspace/one', ordinary('one'));
    const catalog = world.open();
    const first = await catalog.read();
    expect(await catalog.read()).toBe(first);
    const many = await Promise.all(Array.from({ length: 20 }, () => catalog.read()));
    expect(new Set(many)).toEqual(new Set([first]));
  });

  test('a read that was asked for after a change sees it, whatever runs already', async () => {
    await using world = await openSkillsWorld();
    for (let n = 0; n < 50; n += 1) await world.skill(`workspace/s${n}`, ordinary(`s${n}`));
    const catalog = world.open();
    const early = catalog.read();
    await world.skill('workspace/a-late-one', ordinary('late'));
    expect((await catalog.read()).some(({ name }) => name === 'late')).toBe(true);
    await early;
  });
});

// The long runs try those of the program.
limitTests({ folders: 20, skills: 30 }, { set: true });

describe('limits', () => {
  test('links to folders and files are refused by name, wherever they lead', async () => {
    await using world = await openSkillsWorld();
    await world.skill('elsewhere/secret', ordinary('secret'));
    await world.skill('workspace/real', ordinary('real'));
    await mkdir(join(world.workspace, 'half'));
    await symlink(join(world.path, 'elsewhere/secret'), join(world.workspace, 'folder'));
    await symlink(join(world.path, 'elsewhere/secret/SKILL.md'), join(world.workspace, 'half/SKILL.md'));
    await symlink('real', join(world.workspace, 'inside'));
    await symlink('nowhere', join(world.workspace, 'broken'));
    const { skills, warnings } = await world.open().survey();
    expect(skills.map(({ name }) => name)).toEqual(['real']);
    expect(warnings).toEqual([
      `${world.workspace}/broken is a link, so it is not followed.`,
      `${world.workspace}/folder is a link, so it is not followed.`,
      `${world.workspace}/half/SKILL.md is a link, so this skill is not used.`,
      `${world.workspace}/inside is a link, so it is not followed.`,
    ]);
  });

  test('the workspace root may not be a link; a person may link their own', async () => {
    await using world = await openSkillsWorld();
    await world.skill('elsewhere/one', ordinary('one'));
    await symlink(join(world.path, 'elsewhere'), world.workspace);
    await symlink(join(world.path, 'elsewhere'), world.user);
    await world.agree();
    const { skills, warnings } = await world.open().survey();
    expect(skills).toMatchObject([{ name: 'one', source: 'user', folder: join(world.path, 'elsewhere/one') }]);
    expect(warnings).toEqual([`${world.workspace} is a link, so no skill in it is used.`]);
  });

  test('a SKILL.md that is a folder is none', async () => {
    await using world = await openSkillsWorld();
    await mkdir(join(world.workspace, 'odd/SKILL.md'), { recursive: true });
    const { skills, warnings } = await world.open().survey();
    expect(skills).toEqual([]);
    expect(warnings).toEqual([`${world.workspace}/odd/SKILL.md is not a regular file, so this skill is not used.`]);
  });

  test('of a huge SKILL.md the first 300 kB count', async () => {
    await using world = await openSkillsWorld();
    await world.skill('workspace/large', ordinary('large'), 'é'.repeat(250_000));
    const [skill] = await world.open().read();
    expect(skill).toMatchObject({ name: 'large', description: 'About large.' });
    expect(skill?.warnings).toContain('It has 501 kB; only the first 300 kB were read.');
    expect(skill?.body).toMatch(/^é+$/u);
    expect(skill?.body.length).toBeLessThan(150_000);
  });

  test('a text in UTF-16 is read', async () => {
    await using world = await openSkillsWorld();
    await mkdir(join(world.workspace, 'wide'), { recursive: true });
    const text = Buffer.from('\uFEFF---\nname: wide\ndescription: Größe.\n---\nText', 'utf16le');
    await writeFile(join(world.workspace, 'wide/SKILL.md'), text);
    expect(await world.open().read()).toMatchObject([{ name: 'wide', description: 'Größe.', body: 'Text' }]);
  });
});

describe('loading', () => {
  test('gives the text with the folder in it and the line where it begins', async () => {
    await using world = await openSkillsWorld();
    await world.skill('workspace/one', ordinary('one'), '\nRun {baseDir}/a.sh or $SKILL_DIR/b.sh.\n');
    const folder = join(world.workspace, 'one');
    expect(await world.open().load('one')).toMatchObject({
      skill: { name: 'one' },
      text: `Run ${folder}/a.sh or ${folder}/b.sh.\n`,
      line: 6,
    });
  });

  test('names what else lies in the folder, links and hidden files aside', async () => {
    await using world = await openSkillsWorld();
    await world.skill('workspace/one', ordinary('one'));
    for (const path of ['b.md', 'a/x.py', 'a/y.py', '.env', 'node_modules/z']) {
      await world.put(join('workspace/one', path), '');
    }
    await symlink('/etc/passwd', join(world.workspace, 'one/passwd'));
    const catalog = world.open();
    const [skill] = await catalog.read();
    if (skill === undefined) throw new Error('the skill is missing');
    expect(await catalog.files(skill, 50)).toEqual({ paths: ['a/x.py', 'a/y.py', 'b.md'], more: false });
    expect(await catalog.files(skill, 2)).toEqual({ paths: ['a/x.py', 'a/y.py'], more: true });
    expect(await catalog.files(skill, 3)).toEqual({ paths: ['a/x.py', 'a/y.py', 'b.md'], more: false });
  });
});

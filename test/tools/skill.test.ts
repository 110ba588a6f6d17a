import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { skillTool } from '../../src/core/tools/skill.ts';
import type { Executed } from '../../src/core/tools/tool.ts';
import { openSkillsWorld, ordinary, type SkillsWorld } from '../skills/skills-world.ts';
import { testToolContext } from '../support/tool-context.ts';

async function load(shelf: SkillsWorld, name: string, pageChars = 16_000): Promise<Executed> {
  const planned = await skillTool({ skills: shelf.open(), pageChars }).plan({ name }, testToolContext());
  if ('denied' in planned) throw new Error(planned.denied);
  return await planned.run(new AbortController().signal);
}

describe('the skill tool', () => {
  test('brings in a text, its folder and its files, and makes the skill active', async () => {
    await using shelf = await openSkillsWorld();
    await shelf.skill('workspace/one', ordinary('one'), 'Run {baseDir}/run.sh.\n');
    await shelf.put('workspace/one/run.sh', '');
    await shelf.put('workspace/one/docs/more.md', '');
    const folder = join(shelf.workspace, 'one');
    expect(await load(shelf, 'one')).toEqual({
      title: 'skill one',
      output: `Run ${folder}/run.sh.

Folder of this skill, where its relative paths start: ${folder}
Its other files: docs/more.md, run.sh`,
      metadata: { skill: 'one' },
      skill: 'one',
      untrusted: true,
    });
  });

  test.each(['$one', '/one', ' One '])('understands %s', async (name) => {
    await using shelf = await openSkillsWorld();
    await shelf.skill('workspace/one', ordinary('one'));
    expect(await load(shelf, name)).toMatchObject({ skill: 'one' });
  });

  test('names at most 50 files', async () => {
    await using shelf = await openSkillsWorld();
    await shelf.skill('workspace/one', ordinary('one'));
    for (let n = 0; n < 60; n += 1) await shelf.put(`workspace/one/f${String(n).padStart(2, '0')}`, '');
    const { output } = await load(shelf, 'one');
    expect(output).toMatch(/f49, and more$/u);
    expect(output).not.toContain('f50');
  });

  test('shows what is missing under the text, and how it may be installed', async () => {
    await using shelf = await openSkillsWorld();
    const more = 'metadata: {assistant: {requires: {bins: [gone]}, install: [{kind: brew, formula: gone}]}}';
    await shelf.skill('workspace/one', ordinary('one', more));
    const { output, isError } = await load(shelf, 'one');
    expect(isError).toBeUndefined();
    expect(output).toMatch(/^Do it\.\n/u);
    expect(output).toMatch(
      /It cannot be used yet, because this is missing: program gone\. It is installed with brew, which is not here\. It can be installed, if the owner agrees: brew: gone\.$/u,
    );
  });

  test('shows the command for exec that installs what is missing, where its manager is there', async () => {
    await using shelf = await openSkillsWorld();
    await shelf.program('brew');
    const more = 'metadata: {openclaw: {requires: {bins: [gone]}, install: [{kind: brew, formula: a/tap/gone}]}}';
    await shelf.skill('workspace/one', ordinary('one', more));
    expect((await load(shelf, 'one')).output).toMatch(
      /To install it, call exec with outside: true and exactly this command, which the owner is asked about: brew install a\/tap\/gone$/u,
    );
  });

  test('answers an unknown name with near ones', async () => {
    await using shelf = await openSkillsWorld();
    for (const name of ['weather', 'github', 'github-issues']) await shelf.skill(`workspace/${name}`, ordinary(name));
    expect(await load(shelf, 'wether')).toMatchObject({
      isError: true,
      output: 'There is no skill "wether". Did you mean weather?',
    });
    expect((await load(shelf, 'git')).output).toBe('There is no skill "git". Did you mean github or github-issues?');
    expect((await load(shelf, 'xylophone')).output).toBe('There is no skill "xylophone". The name * lists all.');
    expect((await load(shelf, '*')).output).toBe('github, github-issues, weather');
  });

  test('says that there are none', async () => {
    await using shelf = await openSkillsWorld();
    expect((await load(shelf, 'one')).output).toBe('There is no skill "one". There are no skills.');
    expect((await load(shelf, '*')).output).toBe('There are no skills.');
  });

  test('does not open what only people call, nor name it', async () => {
    await using shelf = await openSkillsWorld();
    await shelf.skill('workspace/mine', ordinary('mine', 'disable-model-invocation: true'));
    expect(await load(shelf, 'mine')).toMatchObject({
      isError: true,
      output: 'Only people call this skill, with /mine or $mine in a message.',
    });
    expect((await load(shelf, '*')).output).toBe('There are no skills.');
  });

  test('is for those who are trusted, and only reads', () => {
    const tool = skillTool({
      skills: { read: async () => [], load: async () => undefined, files: none },
      pageChars: 1,
    });
    expect(tool).toMatchObject({ role: 'trusted', effect: 'none' });
  });
});

describe('a text over the page', () => {
  test('is cut at a line, and the file goes on just there', async () => {
    await using shelf = await openSkillsWorld();
    const lines = Array.from({ length: 400 }, (_, n) => `Line ${n} of the text.`);
    const file = await shelf.skill('workspace/one', ordinary('one'), `\n${lines.join('\n')}\n`);
    const { output } = await load(shelf, 'one', 2_000);
    expect(output.length).toBeLessThanOrEqual(2_000);
    const match =
      /Line (?<last>\d+) of the text\.\n\n\(cut here; continue with read_file (?<path>\S+) offset (?<next>\d+)\)/u;
    const { last, path, next } = match.exec(output)?.groups ?? {};
    expect(path).toBe(file);
    // Four lines of front matter and a blank one stand before line 0.
    expect(Number(next)).toBe(Number(last) + 1 + 6);
    expect(Number(last)).toBeGreaterThan(40);
  });

  test('of one endless line is shown as far as it goes', async () => {
    await using shelf = await openSkillsWorld();
    await shelf.skill('workspace/one', ordinary('one'), 'word '.repeat(5_000));
    const { output } = await load(shelf, 'one', 2_000);
    expect(output.length).toBeLessThanOrEqual(2_000);
    expect(output).toMatch(/^(?:word ){200}/u);
    expect(output).toContain('SKILL.md offset 5)');
  });
});

async function none(): Promise<{ paths: readonly string[]; more: boolean }> {
  return { paths: [], more: false };
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openSkills, skillLayers } from '../../src/core/skills/open-skills.ts';
import { openSkillInstaller } from '../../src/core/skills/skill-installer.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { load, temporaryFolder } from '../config/temporary-home.ts';

function put(folder: string, name: string, description: string, more = ''): void {
  const path = join(folder, name, 'SKILL.md');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `---\nname: ${name}\ndescription: ${description}\n${more}---\nText of ${name}.\n`);
}

test('the workspace comes before the person’s folder, that before the package', async () => {
  const { config } = await load('{"skills": {"disabled": ["tmux"]}}');
  const home = temporaryFolder();
  const person = temporaryFolder();
  const own = join(person, '.agents/skills');
  put(own, 'weather', 'Of the person.');
  put(own, 'cron', 'Of the person.');
  put(join(home, 'workspace/skills'), 'cron', 'Of the workspace.');
  const catalog = openSkills(config, homePaths(home), { env: { HOME: person } });
  const read = async () => new Map((await catalog.read()).map(({ name, source }) => [name, source]));
  expect((await read()).get('weather')).toBe('package');
  const installer = openSkillInstaller(config, homePaths(home), { env: { HOME: person } });
  await installer.enable(await installer.plan(join(own, 'weather')));
  const sources = await read();
  expect(sources.get('cron')).toBe('workspace');
  expect(sources.get('weather')).toBe('user');
  expect(sources.get('memory')).toBe('package');
  expect(sources.has('tmux')).toBe(false);
});

test('the layers of the prompt follow the files, and are made anew only then', async () => {
  const { config } = await load(undefined);
  const home = temporaryFolder();
  const catalog = openSkills(config, homePaths(home), { env: { HOME: temporaryFolder() } });
  const layers = skillLayers(catalog);
  const first = await layers();
  expect(first.active).toMatch(/^## memory\n\n- Save a lasting fact that the owner tells you/u);
  expect(first.index).toContain('<name>weather</name>');
  expect(first.index).not.toContain('<name>memory</name>');
  expect(await layers()).toBe(first);
  put(join(home, 'workspace/skills'), 'habits', 'How to greet.', 'always: true\n');
  put(join(home, 'workspace/skills'), 'invoices', 'Write invoices.');
  const second = await layers();
  expect(second.active).toMatch(/^## habits\n\nText of habits\.\n\n## memory\n/u);
  expect(second.index).toContain('<name>invoices</name>');
});

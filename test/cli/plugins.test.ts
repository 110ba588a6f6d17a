import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { assistantCommand } from '../../src/core/util/assistant-command.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { runCommand, type CommandRun } from '../support/command-run.ts';
import { pack } from '../support/packages.ts';
import { tempFolder } from '../support/temp.ts';
import { startWorld, type World } from '../support/world.ts';

/** A package with a command that answers with a text, and a file of its own that it imports. */
async function putPackage(folder: string, name: string, says: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const facts = { name, version: '1.0.0', description: 'Says something.', type: 'module' };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...facts, assistant: { plugin: './index.js' } }));
  await writeFile(join(folder, 'words.js'), `export const words = ${JSON.stringify(says)};`);
  await writeFile(
    join(folder, 'index.js'),
    `import { words } from './words.js';
export default { name: 'say', commands: [{ name: 'say', description: 'says something', run: () => words }] };`,
  );
  return folder;
}

const said = async (world: World): Promise<string> => (await world.assistant.run('/say')).text;
const plugins = (world: World, ...words: readonly string[]): Promise<CommandRun> =>
  runCommand(['plugins', ...words, '--home', world.home], world.home);
const states = async (world: World): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries((await world.assistant.call('pluginsList', {})).map(({ name, state }) => [name, state]));

describe('assistant plugins', () => {
  test.each(['a folder', 'a tarball'] as const)(
    'add: fetches %s, says what it may do, and it runs without a restart; remove ends that',
    { timeout: 60_000 },
    async (what) => {
      await using temp = await tempFolder();
      await using world = await startWorld();
      const folder = await putPackage(join(temp.path, 'say'), 'say-words', 'Hello.');
      const source = what === 'a folder' ? folder : await pack(folder);

      const unasked = await plugins(world, 'add', source);
      expect(unasked.err).toContain('There is no terminal to ask at, so nothing was done.');
      expect(await states(world)).toEqual({});
      expect(existsSync(join(world.home, 'plugins', '.new'))).toBe(false);

      const added = await plugins(world, 'add', source, '--yes');
      expect(added.out).toContain('say-words 1.0.0: Says something.');
      expect(added.out).toContain('A plugin runs inside the assistant with all of its rights');
      expect(added.out).toContain('Added say-words. It is running.');
      expect(added.code).toBe(0);
      expect(await said(world)).toBe('Hello.');
      expect((await world.assistant.run('/help')).text).toContain('/say');
      expect(await readFile(join(world.home, 'config.json'), 'utf8')).toContain('say-words');

      await world.restart();
      expect(await said(world)).toBe('Hello.');

      expect((await plugins(world, 'remove', 'say-words', '--yes')).out).toContain('Removed say-words.');
      expect(await said(world)).toContain('There is no command /say.');
      expect(await states(world)).toEqual({});
    },
  );

  test('list: shows what is found and not enabled, also where npm put it; add enables it by its name', async () => {
    await using world = await startWorld();
    await putPackage(join(world.home, 'plugins', 'say'), 'say-words', 'Hello.');
    await putPackage(join(world.home, 'plugins', 'node_modules', '@ann', 'other'), '@ann/other', 'Bye.');
    const { out } = await plugins(world, 'list');
    expect(out).toContain(
      `say-words 1.0.0: found, not enabled (enable it with: ${assistantCommand('plugins add NAME')} --home ${world.home})`,
    );
    expect(out).toContain('@ann/other 1.0.0: found, not enabled');
    expect((await plugins(world, 'add', '@ann/other', '--yes')).out).toContain('Added @ann/other. It is running.');
    expect(await said(world)).toBe('Bye.');
  });

  test('a package that was changed asks again: what was agreed to runs on, and after a restart nothing of it', async () => {
    await using world = await startWorld();
    const folder = await putPackage(join(world.home, 'plugins', 'say'), 'say-words', 'Hello.');
    await plugins(world, 'add', 'say-words', '--yes');
    await writeFile(join(folder, 'words.js'), "export const words = 'Stolen.';");
    const reloaded = await plugins(world, 'reload');
    expect(reloaded.code).toBe(1);
    expect(reloaded.out).toContain('The plugin "say-words" runs as it was loaded before, because now: its package was');
    expect(await said(world)).toBe('Hello.');
    await world.restart();
    expect(await states(world)).toEqual({ 'say-words': 'failed' });
    expect(await said(world)).toContain('There is no command /say.');
    expect((await world.assistant.call('info', {})).warnings).toContain(
      `The plugin "say-words" does not run: its package was changed since you agreed to it; look at it, then run: ${assistantCommand('plugins add say-words')}.`,
    );
    await plugins(world, 'add', 'say-words', '--yes');
    expect(await said(world)).toBe('Stolen.');
  });

  test('a name in the configuration is an agreement to the package as it is then', async () => {
    await using world = await startWorld({ config: { plugins: ['say-words'] } });
    const folder = await putPackage(join(world.home, 'plugins', 'say'), 'say-words', 'Hello.');
    await world.restart();
    expect(await said(world)).toBe('Hello.');
    await writeFile(join(folder, 'words.js'), "export const words = 'Stolen.';");
    await world.restart();
    expect(await states(world)).toEqual({ 'say-words': 'failed' });
  });

  test('a package with a link to what could change elsewhere does not run', async () => {
    await using temp = await tempFolder();
    await using world = await startWorld({ config: { plugins: ['say-words'] } });
    const folder = await putPackage(join(world.home, 'plugins', 'say'), 'say-words', 'Hello.');
    await rename(join(folder, 'words.js'), join(temp.path, 'words.js'));
    await symlink(join(temp.path, 'words.js'), join(folder, 'words.js'));
    await world.restart();
    expect((await world.assistant.call('info', {})).warnings).toContain(
      'The plugin "say-words" does not run: its package holds a link that leads outside of it.',
    );
  });

  test('what is no plugin is refused with a sentence, and nothing is left of it', async () => {
    await using temp = await tempFolder();
    await using world = await startWorld();
    const folder = join(temp.path, 'plain');
    await mkdir(folder);
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'plain', version: '1.0.0' }));
    const { code, err } = await plugins(world, 'add', folder, '--yes');
    expect(code).not.toBe(0);
    expect(err).toContain('is no plugin: its package.json does not name a file');
    expect((await plugins(world, 'add', './nowhere', '--yes')).err).toContain('There is nothing at ');
    expect((await plugins(world, 'remove', 'nowhere', '--yes')).err).toContain('There is no plugin "nowhere".');
    expect(await states(world)).toEqual({});
  });

  test('a change of another setting starts nothing anew that belongs to plugins, also where there is none', async () => {
    const logged: string[] = [];
    const log = { ...silentLog, info: (message: string) => void logged.push(message) };
    await using world = await startWorld({ log });
    const config = join(world.home, 'config.json');
    const change = async (maxIterations: number): Promise<void> => {
      const settings = JSON.parse(await readFile(config, 'utf8')) as { agent: object };
      await writeFile(config, JSON.stringify({ ...settings, agent: { ...settings.agent, maxIterations } }));
      await world.assistant.reload();
    };
    await change(11);
    await putPackage(join(world.home, 'plugins', 'say'), 'say-words', 'Hello.');
    expect(logged).not.toContain('plugins: changed');
    await plugins(world, 'add', 'say-words', '--yes');
    await change(12);
    expect(logged.filter((message) => message === 'plugins: changed')).toHaveLength(1);
  });

  test('reload: 50 times under load, with no message lost and nothing left behind', { timeout: 120_000 }, async () => {
    await using world = await startWorld();
    await putPackage(join(world.home, 'plugins', 'say'), 'say-words', 'Hello.');
    await plugins(world, 'add', 'say-words', '--yes');
    world.model.setHandler(() => 'Fine.');
    const round = async (n: number): Promise<void> => {
      const config = join(world.home, 'config.json');
      const text = await readFile(config, 'utf8');
      const isOn = n % 2 === 0;
      const listed = isOn ? [] : ['say-words'];
      await writeFile(config, JSON.stringify({ ...(JSON.parse(text) as object), plugins: listed }));
      const answers = ['a', 'b', 'c'].map((session) => world.assistant.run('hi', { session }));
      await world.assistant.reload();
      for (const answer of answers) expect(await answer).toMatchObject({ outcome: 'answered', text: 'Fine.' });
      expect((await states(world))['say-words']).toBe(isOn ? 'not enabled' : 'running');
    };
    for (let n = 0; n < 10; n += 1) await round(n);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 50; n += 1) await round(n);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
    expect(await said(world)).toBe('Hello.');
  });
});

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { withPackages } from '../../src/core/plugins/packages.ts';
import { lookFor } from '../../src/core/stores/forgetting.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { openJournal } from '../../src/core/journal/journal.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { failureOf } from '../config/temporary-home.ts';
import { runCommand } from '../support/command-run.ts';
import { PROGRAM } from '../support/extensions.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';
import { putWater } from './water-package.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

const startWater = (settings: Readonly<Record<string, unknown>>): Promise<World> =>
  startWorld({ furnish: async (home) => void (await putWater(home, settings)) });

const warningsOf = async (world: World): Promise<string> =>
  (await world.assistant.call('info', {})).warnings.join('\n');

describe('a package with an extension', () => {
  test('has settings, a table, a tool, a command, an operation and a layer of the prompt', async () => {
    await using world = await startWater({ water: { goal: 3 } });
    world.model.reply({ calls: [{ name: 'drink', arguments: { note: 'tea' } }] }, 'Noted.');
    world.telegram.userSays(OWNER, 'I drank a glass');
    await waitFor(() => chatOf(world).length === 1);
    expect(world.model.requests[0]?.view.system).toContain('# Water\n\n0 of 3 glasses today');
    expect(await world.assistant.call('water' as 'info', {})).toEqual({ today: 1, goal: 3 });
    expect((await world.assistant.run('/water')).text).toContain('1 of 3 glasses today');
    const { program } = await wholeProgram(world.home);
    expect((await lookFor('tea', { paths: homePaths(world.home), program })).rows).toBeGreaterThan(0);
  });

  test('does not start with settings that it refuses', async () => {
    await using folder = await tempFolder();
    await putWater(folder.path, { water: { goal: 'many' } });
    const { createAssistant } = await import('../../src/app.ts');
    const { message } = await failureOf(createAssistant({ home: folder.path, environment: {} }));
    expect(message).toContain('water.goal');
    // It is no crash, so safe mode is no nearer.
    expect(existsSync(join(folder.path, '.starts'))).toBe(false);
  });

  test('does not run in a second process that is refused the home, which leaves the count of starts as it is', async () => {
    await using world = await startWater({});
    const before = await readFile(join(world.home, '.starts'), 'utf8');
    await rm(join(world.home, 'imported'));
    const { createAssistant } = await import('../../src/app.ts');
    const { code } = await failureOf(createAssistant({ home: world.home, environment: {} }));
    expect(code).toBe('home-locked');
    expect(await readFile(join(world.home, '.starts'), 'utf8')).toBe(before);
    expect(existsSync(join(world.home, 'imported'))).toBe(false);
  });

  test('that is switched off is not there; what it kept is swept and forgotten all the same', async () => {
    await using world = await startWater({ extensions: { water: false } });
    const { message } = await failureOf(world.assistant.call('water' as 'info', {}));
    expect(message).toBe('water is switched off (extensions.water in the configuration).');
    expect((await world.assistant.run('/water')).text).toContain('There is no command /water.');
    const paths = homePaths(world.home);
    await world.assistant[Symbol.asyncDispose]();
    const { program } = await wholeProgram(world.home);
    using db = new DatabaseSync(paths.state);
    db.exec("INSERT INTO water_glass VALUES (1000, 'a glass of lemonade')");
    expect((await lookFor('lemonade', { paths, program })).rows).toBe(1);
    const journal = await openJournal({
      path: paths.state,
      backupPath: null,
      clock: systemClock,
      newId: () => 'id',
      tables: program.tables,
    });
    const sweep = journal.retention.sweeps().find(({ store }) => store === 'glasses');
    if (sweep !== undefined) await journal.retention.slice(sweep, 10);
    journal[Symbol.dispose]();
    expect(db.prepare('SELECT count(*) AS n FROM water_glass').get()).toEqual({ n: 0 });
  });

  test('that was changed does not run; its settings stay unchecked, and the status says both', async () => {
    await using world = await startWorld({
      furnish: async (home) => {
        const folder = await putWater(home, { water: { goal: 'many' } });
        await appendFile(join(folder, 'index.ts'), '// changed');
      },
    });
    expect(existsSync(join(world.home, 'imported'))).toBe(false);
    const warnings = await warningsOf(world);
    expect(warnings).toContain('The plugin "water" does not run: its package was changed since you agreed to it');
    expect(warnings).toContain(
      'The setting "water" isn\'t checked, because it isn\'t known without the plugin "water", which isn\'t loaded.',
    );
    world.model.reply('hi');
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).length === 1);
  });

  test('whose setting exists already does not run', async () => {
    await using world = await startWorld({
      furnish: async (home) => {
        const folder = await putWater(home);
        await writeFile(
          join(folder, 'index.ts'),
          "import { flag, section, z } from 'assistantd'; export default { name: 'w', settings: [section('agent', 'live', z.object({}))] };",
        );
        await rm(join(home, 'plugin-pins.json'));
      },
    });
    expect(await warningsOf(world)).toContain(
      'The plugin "water" does not run: it adds the setting agent, which exists already.',
    );
  });

  test('that is added while the assistant runs is opened at once, unless it has settings or tables', async () => {
    await using world = await startWorld();
    const folder = await putWater(world.home);
    await world.assistant.call('configReload', {});
    expect(await warningsOf(world)).toContain(
      'The plugin "water" does not run: its settings, tables or commands count from the next start on; send /restart.',
    );
    await writeFile(
      join(folder, 'index.ts'),
      `let runs = 'no';
export default {
  name: 'w',
  open: () => ({ commands: [{ name: 'late', description: 'runs', run: () => runs }], start: () => void (runs = 'yes') }),
};`,
    );
    await rm(join(world.home, 'plugin-pins.json'));
    await world.assistant.call('configReload', {});
    expect((await world.assistant.run('/late')).text).toBe('yes');
  });

  test('is not imported after five starts that ended before they were done, and nothing is lost of an orderly stop', async () => {
    const starts = (home: string): string => join(home, '.starts');
    const lately = Array.from({ length: 5 }, (_, n) => Date.now() - n * 1000).join(' ');
    await using world = await startWorld({
      furnish: async (home) => {
        await putWater(home);
        await writeFile(starts(home), lately);
      },
    });
    expect(existsSync(join(world.home, 'imported'))).toBe(false);
    expect(await warningsOf(world)).toContain('I am in safe mode, because I was started 6 times within five minutes');
    await world.restart();
    expect(existsSync(join(world.home, 'imported'))).toBe(true);
    expect(await warningsOf(world)).not.toContain('safe mode');
    expect((await readFile(starts(world.home), 'utf8')).split(' ')).toHaveLength(1);
  });
});

const execute = (home: string, ...words: readonly string[]): Promise<{ readonly stdout: string }> =>
  promisify(execFile)(process.execPath, [MAIN, ...words], {
    env: { PATH: process.env['PATH'], HOME: home, ASSISTANT_HOME: home, NO_COLOR: '1' },
  });

async function wholeProgram(home: string): Promise<{ readonly program: typeof PROGRAM }> {
  const paths = homePaths(home);
  const { config } = await loadConfig({ program: PROGRAM, home, env: {} });
  return { program: await withPackages(PROGRAM, { paths, config, clock: systemClock }, { byName: false }) };
}

test.each([
  ["tables: { migrations: [added('CREATE TABLE oops is wrong')] }", "its tables can't be made: near"],
  ["tables: { migrations: [added('CREATE TABLE inbound (at INTEGER)')] }", 'table inbound already exists'],
  ["open: () => { throw new Error('no pump') }", 'The extension water could not open: no pump'],
])('a package with %j is left out, by its name, and the rest starts', async (field, says) => {
  await using world = await startWorld({
    furnish: async (home) => {
      const folder = await putWater(home);
      await writeFile(
        join(folder, 'index.ts'),
        `import { added } from 'assistantd'; export const used = added; export default { name: 'broken', ${field} };`,
      );
      await rm(join(home, 'plugin-pins.json'));
    },
  });
  const told = JSON.stringify([
    (await world.assistant.call('info', {})).warnings,
    await world.assistant.call('health', {}),
  ]);
  expect(told).toContain(says);
  world.model.reply('hi');
  world.telegram.userSays(OWNER, 'hello');
  await waitFor(() => chatOf(world).length === 1);
});

describe('the real command line', () => {
  test.each([
    [['config', 'get', 'water.goal']],
    [['config', 'get', 'agent.model']],
    [['--version']],
    [['--help']],
    [['config', '--help']],
    [['completion', 'bash']],
  ])('%j runs nothing of a package', async (words) => {
    await using folder = await tempFolder();
    await putWater(folder.path, { water: { goal: 5 } });
    const { stdout } = await execute(folder.path, ...words);
    expect(stdout).not.toBe('');
    expect(existsSync(join(folder.path, 'imported'))).toBe(false);
  });

  test('knows the command of a package that was agreed to, and of no other', async () => {
    await using folder = await tempFolder();
    await putWater(folder.path);
    expect((await execute(folder.path, 'water')).stdout).toBe('Drink!\n');
    await rm(join(folder.path, 'imported'));
    await rm(join(folder.path, 'plugin-pins.json'));
    const { err, code } = await runCommand(['water'], folder.path);
    expect([err, code]).toEqual([expect.stringContaining("Unknown command 'water'."), 2]);
    expect(existsSync(join(folder.path, 'imported'))).toBe(false);
  });

  test('checks a setting of a package before it is written', async () => {
    await using folder = await tempFolder();
    await mkdir(join(folder.path, 'workspace'));
    await putWater(folder.path);
    const set = (value: string) => runCommand(['config', 'set', 'water.goal', value], folder.path);
    expect(await set('4')).toMatchObject({ code: 0, err: '' });
    expect((await set('many')).err).toContain('water.goal');
    expect((await runCommand(['config', 'get', 'water.goal'], folder.path)).out).toContain('4');
  });
});

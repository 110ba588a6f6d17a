import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtProgram } from '../support/built-program.ts';
import { tempFolder } from '../support/temp.ts';

const OWNER = 65_534;

/** Files of a folder that don't belong to the owner of the home. */
function ofOthers(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => statSync(join(folder, name)).uid !== OWNER,
  );
}

describe.skipIf(process.getuid?.() !== 0)('root in the home of another user', () => {
  test.each([
    ['config', 'set', 'agent.name', 'Ada'],
    ['skills', 'new', 'weather'],
    ['chat', '-m', 'hi'],
    ['memory', 'show'],
    ['cron', 'list'],
    ['pair', 'list'],
    ['backup'],
    ['init', '--yes', '--provider', 'demo', '--no-check'],
    ['status'],
    ['doctor'],
    ['gateway'],
    // A word that only a package could know.
    ['nosuch'],
  ])('assistant %s … changes nothing and says which command to run', { timeout: 60_000 }, async (...words) => {
    await using temp = await tempFolder();
    const home = join(temp.path, 'home');
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, 'config.json'), '{"agent":{"model":"demo/scripted"},"gateway":{"port":0}}');
    for (const path of [home, join(home, 'config.json')]) chownSync(path, OWNER, OWNER);
    const program = await builtProgram();
    const { status, stderr } = spawnSync(process.execPath, [program.main, ...words, '--home', home], {
      env: program.environment({ HOME: temp.path }),
      encoding: 'utf8',
      timeout: 50_000,
    });
    expect(stderr).toContain(`Run: sudo -u nobody assistant ${words.join(' ')} --home ${home}`);
    expect(status).toBe(1);
    expect(ofOthers(home)).toEqual([]);
    expect(readdirSync(home)).toEqual(['config.json']);
  });

  test.each(['', 'new/deeper'])(
    'a home that is not there yet is not made in the folder of another user: %j',
    { timeout: 60_000 },
    async (place) => {
      await using temp = await tempFolder();
      chownSync(temp.path, OWNER, OWNER);
      const program = await builtProgram();
      const words = place === '' ? [] : ['--home', join(temp.path, place)];
      const set = ['config', 'set', 'agent.maxIterations', '9', ...words];
      const { status } = spawnSync(process.execPath, [program.main, ...set], {
        env: program.environment({ HOME: temp.path }),
        encoding: 'utf8',
      });
      expect(readdirSync(temp.path)).toEqual([]);
      expect(status).toBe(1);
      rmSync(temp.path, { recursive: true });
    },
  );
});

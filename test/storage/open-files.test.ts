import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';

const module = (name: string): string =>
  JSON.stringify(new URL(`../../src/core/storage/${name}.ts`, import.meta.url).href);

test.skipIf(process.platform !== 'linux')(
  'a process that may open no more files says so of a home that it cannot open, and names the limit to raise',
  async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'file');
    await writeFile(path, '');
    const script = `
      import { openSync } from 'node:fs';
      import { acquireHomeLock } from ${module('lock')};
      import { openDatabase } from ${module('open-database')};
      try { for (;;) openSync('/dev/null', 'r'); } catch {}
      const said = async (open) => { try { await open(); return 'opened'; } catch (error) { return error.message; } };
      const path = process.argv[1];
      console.log(JSON.stringify([
        await said(() => acquireHomeLock(path, { pid: 1, startedAt: 0 })),
        await said(() => openDatabase({ path, migrations: [], backupPath: null })),
      ]));
    `;
    const args = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', script, path];
    const { stdout } = spawnSync('sh', args, { encoding: 'utf8' });
    const limit = 'No more files may be open in this process: raise the limit (ulimit -n 65536,';
    expect(JSON.parse(stdout)).toEqual([
      expect.stringMatching(/^Could not use the lock file .*file: /u),
      expect.stringMatching(/^Could not open .*file: /u),
    ]);
    for (const text of JSON.parse(stdout) as readonly string[]) {
      expect(text).toContain(limit);
      expect(text).not.toContain('belongs to you');
    }
  },
);

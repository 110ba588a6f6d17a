import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';
import { pdfOf } from '../tools/web-world.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

test('the published package builds, and its launcher answers a question', async () => {
  await using folder = await tempFolder();
  // Beside the sources, as dist/ is, so that the package's own files are found.
  const dist = await mkdtemp(join(ROOT, 'node_modules', '.build-test-'));
  try {
    await run(process.execPath, ['esbuild.config.ts', dist], { cwd: ROOT });
    const env = { PATH: process.env['PATH'], HOME: folder.path, ASSISTANT_HOME: join(folder.path, 'home') };
    const { stdout } = await run(process.execPath, [join(dist, 'launcher.cjs'), 'chat', '-m', 'list files'], { env });
    expect(stdout).toContain('I am a scripted demo, not an AI');
    expect(stdout).toContain('list_dir is done');
    const found = await run(
      process.execPath,
      [join(dist, 'launcher.cjs'), 'chat', '-m', ',memory_search scripted demo'],
      {
        env,
      },
    );
    expect(found.stdout).toContain('I am a scripted demo');
    await writeFile(join(folder.path, 'home', 'workspace', 'a.pdf'), pdfOf(['from the child process']));
    const read = [join(dist, 'launcher.cjs'), 'chat', '-m', ',read_file a.pdf'];
    expect((await run(process.execPath, read, { env })).stdout).toContain('from the child process');
  } finally {
    await rm(dist, { recursive: true, force: true });
  }
});

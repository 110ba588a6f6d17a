import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../../esbuild.config.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CHILDREN = ['crash-child', 'dying-child'] as const;

let building: Promise<string> | undefined;

/** A program of `test/support`, bundled as the published package is, so that it starts in a moment. */
export async function bundledChild(name: (typeof CHILDREN)[number]): Promise<{ file: string; compiled: string }> {
  building ??= buildAll();
  const folder = await building;
  return { file: join(folder, 'dist', `${name}.js`), compiled: join(folder, 'compiled') };
}

async function buildAll(): Promise<string> {
  const cache = join(ROOT, 'node_modules', '.cache', 'assistant-test');
  await mkdir(cache, { recursive: true });
  // A test process is ended without a word: the next one clears up after it.
  for (const name of await readdir(cache)) {
    if (!isAlive(Number(name))) await rm(join(cache, name), { recursive: true, force: true });
  }
  const folder = join(cache, String(process.pid));
  await mkdir(folder);
  for (const name of ['skills', 'workspace-template']) await symlink(join(ROOT, name), join(folder, name));
  await bundle(
    CHILDREN.map((name) => `test/support/${name}.ts`),
    join(folder, 'dist'),
  );
  return folder;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

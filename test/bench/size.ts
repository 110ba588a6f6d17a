import { execa } from 'execa';
import { readdir, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Row } from './table.ts';
import { median } from './world.ts';

/** The package as it is installed: its size, how many packages come with it, and how soon it answers `--help`. */
export async function measurePackage(root: string, folder: string): Promise<readonly Row[]> {
  const to = join(folder, 'installed');
  await mkdir(to, { recursive: true });
  const { stdout } = await execa('npm', ['pack', '--json', '--pack-destination', folder, '--ignore-scripts'], {
    cwd: root,
  });
  const [packed] = JSON.parse(stdout) as { filename: string; size: number }[];
  const tarball = join(folder, packed?.filename ?? '');
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--omit=optional'];
  await execa('npm', ['install', '--prefix', to, ...options, tarball], { cwd: to });
  const packages = (await readdir(join(to, 'node_modules'))).filter((name) => !name.startsWith('.'));
  const program = join(to, 'node_modules/assistantd/dist/launcher.cjs');
  const helps: number[] = [];
  for (let i = 0; i < 6; i += 1) {
    const began = performance.now();
    await execa(process.execPath, [program, '--help']);
    if (i > 0) helps.push(performance.now() - began);
  }
  return [
    { what: 'tarball', value: (packed?.size ?? NaN) / 1_048_576, unit: 'MiB' },
    { what: 'installed, without Node', value: (await bytesIn(to)) / 1_048_576, unit: 'MiB', most: 20 },
    { what: 'packages that are installed', value: packages.length, unit: '', most: 5 },
    { what: '`assistant --help`', value: median(helps), unit: 'ms' },
  ];
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BESIDE_PROGRAM, builtProgram } from './built-program.ts';
import { childEnvironment } from './child-environment.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** What is published but the types, of a program that is built once; versions of it are made with `packVersion`. */
export async function copyPackage(folder: string): Promise<void> {
  const program = await builtProgram();
  for (const name of ['dist', ...BESIDE_PROGRAM]) {
    await cp(await realpath(join(program.folder, name)), join(folder, name), { recursive: true });
  }
}

/** The package as it is published. */
export async function buildPackage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await run(process.execPath, ['program.config.ts', join(folder, 'dist')], { cwd: ROOT });
  for (const name of BESIDE_PROGRAM) await cp(join(ROOT, name), join(folder, name), { recursive: true });
}

/** A tarball of a built package under a version of its own; `spoil` may change what is in it. */
export async function packVersion(
  built: string,
  version: string,
  spoil: (folder: string) => Promise<void> = async () => {},
): Promise<string> {
  const folder = `${built}-${version}`;
  await cp(built, folder, { recursive: true });
  const facts = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as object;
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...facts, version }));
  await spoil(folder);
  return await pack(folder);
}

/** The tarball of a built package. */
export async function pack(folder: string): Promise<string> {
  await npm(folder, 'pack', '--ignore-scripts');
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '';
  return join(folder, tarball);
}

export async function npm(cwd: string, ...args: readonly string[]): Promise<void> {
  const env = childEnvironment({ HOME: cwd });
  await run('npm', [...args, '--offline', '--no-audit', '--no-fund'], { cwd, env });
}

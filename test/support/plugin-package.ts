import { cp, mkdir, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A plugin package of this repository. */
export interface PluginPackage {
  /** As its package.json and `plugins` of the configuration name it. */
  readonly name: string;
  /** Absolute path. */
  readonly folder: string;
}

export const FEISHU: PluginPackage = {
  name: 'assistant-feishu',
  folder: fileURLToPath(new URL('../../examples/feishu', import.meta.url)),
};

export const MATRIX: PluginPackage = {
  name: 'assistant-matrix',
  folder: fileURLToPath(new URL('../../examples/matrix', import.meta.url)),
};

const DEPENDENCIES = fileURLToPath(new URL('../../node_modules', import.meta.url));

/**
 * Puts a plugin where `assistant plugins add` puts it. What it depends on is not copied into it, it is found among the
 * dependencies of this repository.
 */
export async function putPlugin(home: string, { name, folder }: PluginPackage): Promise<void> {
  await mkdir(join(home, 'plugins'), { recursive: true, mode: 0o700 });
  await cp(folder, join(home, 'plugins', name.replaceAll('/', '__')), {
    recursive: true,
    filter: (path) => basename(path) !== 'node_modules',
  });
  await symlink(DEPENDENCIES, join(home, 'node_modules'));
}

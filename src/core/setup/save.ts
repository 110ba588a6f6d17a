import type { Program } from '../program.ts';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { editedText } from '../config/edited-text.ts';
import { ensureHome, type HomePaths } from '../config/home.ts';
import { initHome, NEW_CONFIG } from '../config/init.ts';
import { readConfigFile } from '../config/read-config.ts';
import { ensureDirectory, readIfExists, replaceDurable } from '../storage/files.ts';

/** A value and where it belongs in `config.json`; a secret goes into a file of its own. */
export type Setting =
  | { readonly path: readonly string[]; readonly value: unknown }
  | {
      readonly path: readonly string[];
      /** Of the file in `secrets/`. */ readonly name: string;
      readonly secret: string;
    };

export interface Saved {
  /** Relative to the home. */
  readonly written: readonly string[];
}

const SECRETS = 'secrets';

/**
 * Writes settings into a home: secrets first (0600), then `config.json` in one replacement, with its comments, then
 * what is missing of the workspace. What has the value already is not written. Throws before anything is written when
 * the configuration cannot be edited.
 */
export async function saveSettings(
  { program, paths }: { readonly program: Program; readonly paths: HomePaths },
  settings: readonly Setting[],
): Promise<Saved> {
  const before = await readConfigFile(paths.config);
  const start = before === undefined || before.trim() === '' ? NEW_CONFIG : before;
  let text = start;
  for (const setting of settings) {
    const value = 'secret' in setting ? { file: `${SECRETS}/${setting.name}` } : setting.value;
    text = editedText(text, { path: setting.path, value, file: paths.config });
  }
  await ensureHome(paths);
  const written: string[] = [];
  for (const setting of settings) {
    if (!('secret' in setting)) continue;
    const file = join(paths.home, SECRETS, setting.name);
    if ((await readIfExists(file))?.trim() === setting.secret) continue;
    await ensureDirectory(join(paths.home, SECRETS));
    await replaceDurable(file, `${setting.secret}\n`);
    written.push(`${SECRETS}/${setting.name}`);
  }
  // A link to a file elsewhere stays a link.
  if (before !== undefined && text !== before) {
    await replaceDurable(await realpath(paths.config), text);
    written.push('config.json');
  }
  const { created } = await initHome(paths, program, { config: text });
  return { written: [...written, ...created] };
}

import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { applyEdits, modify } from 'jsonc-parser';
import { parseDocument } from '../config/document.ts';
import { ensureHome, type HomePaths } from '../config/home.ts';
import { initHome, NEW_CONFIG } from '../config/init.ts';
import { ensureDirectory, readIfExists, replaceDurable } from '../storage/files.ts';
import { AppError } from '../util/errors.ts';

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
export async function saveSettings(paths: HomePaths, settings: readonly Setting[]): Promise<Saved> {
  const before = await readIfExists(paths.config);
  const start = before === undefined || before.trim() === '' ? NEW_CONFIG : before;
  let text = start;
  for (const setting of settings) text = edited(text, setting, paths.config);
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
  const { created } = await initHome(paths, { config: text });
  return { written: [...written, ...created] };
}

function edited(text: string, setting: Setting, file: string): string {
  const value = 'secret' in setting ? { file: `${SECRETS}/${setting.name}` } : setting.value;
  const [mark = ''] = /^\uFEFF/u.exec(text) ?? [];
  const body = text.slice(mark.length);
  const path = [...setting.path];
  if (JSON.stringify(valueAt(parseDocument(body, file).value, path)) === JSON.stringify(value)) return text;
  try {
    const eol = body.includes('\r\n') ? '\r\n' : '\n';
    const formattingOptions = { insertSpaces: true, tabSize: 2, eol };
    return mark + applyEdits(body, modify(body, path, value, { formattingOptions }));
  } catch (cause) {
    const message = `${file} cannot be edited: ${path.join('.')} stands below something that is no object. Correct it and run this again.`;
    throw new AppError('config-invalid', message, { cause, exitCode: 78, facts: { file } });
  }
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Object.entries(at).find(([name]) => name === key)?.[1];
  }
  return at;
}

import { realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readIfExists, replaceDurable } from '../storage/files.ts';
import { isInUse } from '../storage/lock.ts';
import { AppError } from '../util/errors.ts';
import { ConfigError, type ConfigProblem } from './config-error.ts';
import { parseDocument } from './document.ts';
import { editedText } from './edited-text.ts';
import type { Environment } from './environment.ts';
import { ensureHome, type HomePaths } from './home.ts';
import { unknownKeys } from './unknown-keys.ts';
import { NEW_CONFIG } from './init.ts';
import { loadConfig, type LoadedConfig } from './load.ts';
import { copyProblem } from './machine.ts';
import { readConfigFile } from './read-config.ts';
import type { Program } from '../program.ts';
import type { SettingPath } from './setting.ts';

/** A text for `config.json` that the assistant can run with, not written yet. */
export interface ConfigDraft {
  /** What the file holds now; undefined where there is none. */
  readonly before: string | undefined;
  readonly text: string;
  /** What the assistant would run with. Undefined where something else in the file was wrong before and still is. */
  readonly loaded: LoadedConfig | undefined;
  /** What it runs with now; undefined where it could not start. */
  readonly was: LoadedConfig | undefined;
  /** What was wrong before and still is. */
  readonly remaining: readonly ConfigProblem[];
}

/**
 * `config.json` with one setting changed, or left out when `value` is undefined; comments and form stay. Throws the
 * sentence that a start would say when the assistant could not run like that, or when nothing would read the setting.
 */
export async function draftChange(
  { program, paths, env }: { readonly program: Program; readonly paths: HomePaths; readonly env: Environment },
  { path, value }: { readonly path: SettingPath; readonly value: unknown },
): Promise<ConfigDraft> {
  requireFile(env, paths);
  const before = await readConfigFile(paths.config);
  const start = before === undefined || before.trim() === '' ? NEW_CONFIG : before;
  const text = editedText(start, { path, value, file: paths.config });
  const known = new Set(unknownKeys(program, parseDocument(start, paths.config).value).map(({ says }) => says));
  const unknown = unknownKeys(program, parseDocument(text, paths.config).value).find(({ says }) => !known.has(says));
  if (unknown !== undefined) throw refused(unknown.says);
  const [was, is] = [
    await problemsOf(program, paths.home, env, start),
    await problemsOf(program, paths.home, env, text),
  ];
  const added = is.problems.find(({ sentence }) => !was.problems.some((old) => old.sentence === sentence));
  if (added !== undefined) throw refused(added.sentence);
  return { before, text, loaded: is.loaded, was: was.loaded, remaining: is.problems };
}

/** Everything that is wrong with a text for `config.json`; what it would be loaded as where nothing is. */
export async function problemsOf(
  program: Program,
  home: string,
  env: Environment,
  text?: string,
): Promise<{ readonly loaded: LoadedConfig | undefined; readonly problems: readonly ConfigProblem[] }> {
  try {
    const loaded = await loadConfig({ program, home, env, ...(text === undefined ? {} : { text }) });
    return { loaded, problems: [] };
  } catch (error) {
    if (error instanceof ConfigError) return { loaded: undefined, problems: error.problems };
    if (!(error instanceof AppError)) throw error;
    return { loaded: undefined, problems: [{ path: '', sentence: error.message, place: undefined }] };
  }
}

/** Writes a text to `config.json` in one replacement. Throws `config-changed` when the file is no longer `before`. */
export async function writeConfig(
  paths: HomePaths,
  { before, text }: { readonly before: string | undefined; readonly text: string },
): Promise<void> {
  await ensureHome(paths);
  if ((await readConfigFile(paths.config)) !== before) {
    throw new AppError('config-changed', `${paths.config} was changed meanwhile, so it was not written. Try again.`);
  }
  // A link to a file elsewhere stays a link.
  await replaceDurable(before === undefined ? paths.config : await realpath(paths.config), text);
}

/** A copy of `config.json` to be edited, beside it, so that its schema is found. */
export async function openCopy(
  paths: HomePaths,
  env: Environment,
): Promise<{
  readonly path: string;
  readonly before: string | undefined;
  readonly read: () => Promise<string>;
  readonly remove: () => Promise<void>;
}> {
  requireFile(env, paths);
  await ensureHome(paths);
  const before = await readConfigFile(paths.config);
  const path = join(dirname(paths.config), 'config.edit.json');
  await replaceDurable(path, before ?? NEW_CONFIG);
  return { path, before, read: async () => (await readIfExists(path)) ?? '', remove: () => rm(path, { force: true }) };
}

/** Throws where nobody would read the file. */
function requireFile({ ASSISTANT_CONFIG: whole }: Environment, { home, lock, config: file }: HomePaths): void {
  const copied = isInUse(lock) ? null : copyProblem({ home });
  if (copied !== null) throw copied;
  if (whole === undefined) return;
  throw new AppError(
    'config-in-variable',
    `The variable ASSISTANT_CONFIG holds the configuration, so ${file} is not read. Change the variable, or unset it and run this again.`,
  );
}

function refused(sentence: string): AppError {
  return new AppError('config-invalid', `${sentence} Nothing was changed.`, { exitCode: 78 });
}

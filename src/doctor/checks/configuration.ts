import { readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { parseDocument, type ConfigDocument } from '../../core/config/document.ts';
import { note, ok, warning, type Found } from '../../core/util/finding.ts';
import { checksOn, knownOf } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const configurationChecks = checksOn('configuration', [
  ['config.valid', 'config.json can be read, and each value is of its kind', valid],
  ['config.mode', 'other users of the machine can neither change config.json nor read keys in it', mode],
  ['config.unused', 'no setting is unknown, or known and without an effect', unused],
  ['config.missing', 'the variables that settings name are set, and no channel lacks a token', missing],
]);

function valid({ loaded, isMachine, configTroubles, paths, command }: Scene): readonly Found[] {
  if (loaded === null) return configTroubles;
  if (!loaded.exists)
    return [note(`There is no ${paths.config}, so the defaults are used.`, isMachine ? null : command('init'))];
  return [ok(`${loaded.path} is valid.`)];
}

function mode({ loaded, known, paths }: Scene): readonly Found[] {
  if (loaded?.exists !== true) return [];
  const found = knownOf(known, 'config.mode');
  if (found.length === 0) return [ok('Only its owner can change config.json or read keys in it.')];
  const repair = async (): Promise<string> => {
    await chmod(paths.config, 0o600);
    return `Only its owner can read and change ${paths.config} now.`;
  };
  return found.map((finding) => ({ ...finding, repair }));
}

function unused({ loaded, known, paths, command }: Scene): readonly Found[] {
  if (loaded?.exists !== true) return [];
  const document = documentOf(paths.config);
  const found = knownOf(known, 'config.unused');
  if (found.length === 0) return [ok('Every setting of config.json is known and used.')];
  return found.map(({ says, facts: { setting, plugins } = {} }) => {
    const place = setting === undefined ? undefined : document?.position(setting.split('.'));
    if (setting === undefined || place === undefined) return warning(says, command('config edit'));
    return warning(
      `${paths.config}:${place.line}:${place.column}: ${says}`,
      command(plugins === undefined ? `config unset ${setting}` : 'plugins list'),
    );
  });
}

function missing({ loaded, known, service, paths, command }: Scene): readonly Found[] {
  if (loaded === null) return [];
  const found = knownOf(known, 'config.missing');
  if (found.length === 0) return [ok('No variable or token that a setting needs is missing.')];
  const place = service === null ? 'the environment of the assistant' : service.places.variables;
  return found.map(({ says, facts: { setting, variable } = {} }) => {
    if (variable !== undefined) return warning(says, `Set ${variable} in ${place}, and restart the assistant`);
    return warning(
      says,
      setting === undefined ? null : `Set ${setting} in ${paths.config}, or run: ${command('init')}`,
    );
  });
}

function documentOf(path: string): ConfigDocument | undefined {
  try {
    return parseDocument(readFileSync(path, 'utf8'), path);
  } catch {
    return undefined;
  }
}

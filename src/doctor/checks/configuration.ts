import { readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { parseDocument, type ConfigDocument } from '../../core/config/document.ts';
import { shellWord } from '../../core/util/text.ts';
import { fromSentence, note, ok, warning, type Check, type Finding } from '../check.ts';
import type { Scene } from '../scene.ts';

export const configurationChecks: readonly Check[] = [
  {
    id: 'config.valid',
    subject: 'configuration',
    about: 'config.json can be read, and each value is of its kind',
    run: valid,
  },
  {
    id: 'config.mode',
    subject: 'configuration',
    about: 'other users of the machine can neither change config.json nor read keys in it',
    run: mode,
  },
  {
    id: 'config.unused',
    subject: 'configuration',
    about: 'no setting is unknown, or known and without an effect',
    run: unused,
  },
  {
    id: 'config.missing',
    subject: 'configuration',
    about: 'the variables that settings name are set, and no channel lacks a token',
    run: missing,
  },
];

function valid({ loaded, isMachine, configTroubles, paths, command }: Scene): readonly Finding[] {
  if (loaded === null)
    return configTroubles.map((sentence) => fromSentence('failed', sentence, command('config edit')));
  if (!loaded.exists)
    return [note(`There is no ${paths.config}, so the defaults are used.`, isMachine ? null : command('init'))];
  return [ok(`${loaded.path} is valid.`)];
}

/** What the configuration is warned of, by subject: each sentence belongs to one. */
function remarks({ loaded }: Scene): Readonly<Record<'mode' | 'unused' | 'missing', readonly string[]>> {
  const warnings = loaded?.warnings ?? [];
  const idle = new Set(loaded?.unknown);
  const isMode = (sentence: string): boolean => / Run: chmod 600 /u.test(sentence);
  return {
    mode: warnings.filter(isMode),
    unused: warnings.filter((sentence) => idle.has(sentence)),
    missing: warnings.filter((sentence) => !isMode(sentence) && !idle.has(sentence)),
  };
}

function mode(scene: Scene): readonly Finding[] {
  const { loaded, paths } = scene;
  if (loaded?.exists !== true) return [];
  const found = remarks(scene).mode;
  if (found.length === 0) return [ok('Only its owner can change config.json or read keys in it.')];
  const remedy = `chmod 600 ${shellWord(paths.config)}`;
  const repair = async (): Promise<string> => {
    await chmod(paths.config, 0o600);
    return `Only its owner can read and change ${paths.config} now.`;
  };
  return found.map((sentence) => {
    const state = sentence.includes('may be changed') ? 'failed' : 'warning';
    return { ...fromSentence(state, sentence, remedy), repair };
  });
}

function unused(scene: Scene): readonly Finding[] {
  if (scene.loaded?.exists !== true) return [];
  const document = documentOf(scene.paths.config);
  const found = remarks(scene).unused;
  if (found.length === 0) return [ok('Every setting of config.json is known and used.')];
  return found.map((sentence) => {
    const path = /^(?:The setting ")?(?<path>\w[\w.-]*)/u.exec(sentence)?.groups?.['path'] ?? '';
    const isAbsent = sentence.includes("isn't checked, because");
    const place = document?.position(path.split('.'));
    const where = place === undefined ? '' : `${scene.paths.config}:${place.line}:${place.column}: `;
    return warning(
      `${where}${sentence}`,
      scene.command(place === undefined ? 'config edit' : isAbsent ? 'plugins list' : `config unset ${path}`),
    );
  });
}

function missing(scene: Scene): readonly Finding[] {
  if (scene.loaded === null) return [];
  const found = remarks(scene).missing;
  if (found.length === 0) return [ok('No variable or token that a setting needs is missing.')];
  const place =
    scene.service === null ? 'the environment of the assistant' : scene.service.opened.supervisor.places.variables;
  return found.map((sentence) => {
    const variable = /names the variable (?<name>\w+)/u.exec(sentence)?.groups?.['name'];
    const key = /(?<key>channels\.[\w.-]+) is not set/u.exec(sentence)?.groups?.['key'];
    if (variable !== undefined) return warning(sentence, `Set ${variable} in ${place}, and restart the assistant`);
    return fromSentence(
      'warning',
      sentence,
      key === undefined ? null : `Set ${key} in ${scene.paths.config}, or run: ${scene.command('init')}`,
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

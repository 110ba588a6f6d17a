import type { Environment } from './environment.ts';
import { usualVariable } from './environment-keys.ts';
import type { LoadedConfig } from './load.ts';
import { isSecretPath } from './secrets.ts';
import { schemaAt, valueAt, type SettingPath } from './setting.ts';

/** A setting as it may be shown. */
export interface ShownSetting {
  /** Its value; of a secret, and of each secret inside, only `(set)`. Undefined: it is not set and has no default. */
  readonly value: unknown;
  readonly isSecret: boolean;
  /** Where it is from: `the default`, a file, a variable. */
  readonly from: string;
}

const SET = '(set)';

/** What a configuration says at a path, without a secret; undefined where there is no such setting. */
export function shownSetting(loaded: LoadedConfig, path: SettingPath, env: Environment): ShownSetting | undefined {
  const value = valueAt(loaded.config, path);
  if (value === undefined && schemaAt(loaded.program, path) === undefined) return undefined;
  const shown = withoutSecrets(value, path, new Set(loaded.secrets));
  return { value: shown, isSecret: shown === SET, from: originOf(loaded, path, env) };
}

function withoutSecrets(value: unknown, path: SettingPath, secrets: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return isSecretPath(path) || secrets.has(value) ? SET : value;
  if (Array.isArray(value)) {
    if (value.length > 0 && isSecretPath(path)) return SET;
    return value.map((item: unknown, at) => withoutSecrets(item, [...path, String(at)], secrets));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutSecrets(item, [...path, key], secrets)]),
  );
}

function originOf(
  { program, config, written, variableOf, path: file }: LoadedConfig,
  path: SettingPath,
  env: Environment,
): string {
  const own = variableOf(path);
  if (own !== undefined) return `the variable ${own}`;
  const given = valueAt(written, path);
  if (typeof given === 'string') {
    const names = [...given.matchAll(/(?<!\$)\$\{(?<name>\w+)\}/gu)].map(({ groups }) => groups?.['name'] ?? '');
    const unset = names.find((name) => (env[name] ?? '') === '');
    if (unset !== undefined) return `the default: ${file} names the variable ${unset}, which is not set`;
    if (names.length > 0) return `the variable ${names.join(' and ')}, named in ${file}`;
  }
  if (typeof given === 'object' && given !== null && 'file' in given && typeof given.file === 'string') {
    if (typeof valueAt(config, path) === 'string') return `the file ${given.file}, named in ${file}`;
  }
  if (given !== undefined) return file;
  const usual = usualVariable(program, path);
  const isFilled = usual !== undefined && env[usual] !== undefined && valueAt(config, path) !== null;
  return isFilled ? `the variable ${usual}` : 'the default';
}

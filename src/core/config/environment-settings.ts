import * as z from 'zod';
import { AppError } from '../util/errors.ts';
import { nearest } from '../util/text.ts';
import type { Environment } from './environment.ts';
import { mergeSettings } from './environment-keys.ts';
import { innerSchema } from './schema.ts';
import type { Program } from '../program.ts';
import { keysAt } from './unknown-keys.ts';
import { schemaAt, valueAt, valueFromText, type SettingPath } from './setting.ts';

const PREFIX = 'ASSISTANT_';
/** Variables of that prefix that are no settings. */
const OTHERS: ReadonlySet<string> = new Set(['ASSISTANT_HOME', 'ASSISTANT_CONFIG', 'ASSISTANT_COMMAND']);

type Settings = Readonly<Record<string, unknown>>;

/** The settings with what `ASSISTANT_…` variables say, which wins over the file. */
export interface EnvironmentSettings {
  readonly settings: Settings;
  /** The variable that sets a path or a part of it; undefined: none does. */
  readonly variableOf: (path: SettingPath) => string | undefined;
  /** The variables that set something. */
  readonly variables: readonly string[];
  /** One sentence for each variable that no setting belongs to. */
  readonly warnings: readonly string[];
}

/**
 * Reads every variable `ASSISTANT_<PATH>` over `written`: `__` between the keys, upper case and `_` as you like inside
 * them. Throws `config-invalid` where a name could mean two entries.
 */
export function withVariables(program: Program, written: Settings, env: Environment): EnvironmentSettings {
  const variables: { readonly name: string; readonly path: SettingPath }[] = [];
  const warnings: string[] = [];
  let settings = written;
  // A whole section comes before its parts, which win and may name its entries.
  const names = Object.keys(env).filter((name) => name.startsWith(PREFIX) && !OTHERS.has(name));
  for (const name of names.sort((a, b) => wordsOf(a).length - wordsOf(b).length || (a < b ? -1 : 1))) {
    const text = env[name];
    if (text === undefined || text === '') continue;
    const path = pathOf(program, name, settings);
    if (path === undefined) {
      warnings.push(unknownVariable(program, name));
      continue;
    }
    settings = mergeSettings(settings, nested(path, valueFromText(schemaAt(program, path), text)));
    variables.push({ name, path });
  }
  const isWithin = (inner: SettingPath, outer: SettingPath): boolean => outer.every((key, at) => inner[at] === key);
  return {
    settings,
    warnings,
    variables: variables.map(({ name }) => name),
    variableOf: (path) => {
      const above = variables.findLast((variable) => isWithin(path, variable.path));
      if (above !== undefined) return above.name;
      const below = variables.find((variable) => isWithin(variable.path, path));
      return valueAt(written, path) === undefined ? below?.name : undefined;
    },
  };
}

/** The variable that sets this path. */
export function variableName(path: SettingPath): string {
  const words = path.map((key) =>
    key
      .replaceAll(/(?<=[a-z\d])(?=[A-Z])/gu, '_')
      .replaceAll(/[^A-Za-z\d]/gu, '_')
      .toUpperCase(),
  );
  return `${PREFIX}${words.join('__')}`;
}

function wordsOf(variable: string): readonly string[] {
  return variable.slice(PREFIX.length).split('__');
}

/** The path that a variable sets; undefined where there is no such setting. */
function pathOf(program: Program, variable: string, settings: Settings): SettingPath | undefined {
  const path: string[] = [];
  for (const word of wordsOf(variable)) {
    const inner = innerSchema(schemaAt(program, path));
    const key =
      inner instanceof z.ZodRecord
        ? entryName(word, { program, path, entries: valueAt(settings, path), variable })
        : inner instanceof z.ZodObject
          ? keyOf(word, keysAt(program, { path, value: valueAt(settings, path), schema: inner }))
          : undefined;
    if (key === undefined) return undefined;
    path.push(key);
  }
  return path;
}

/** The key of an object that a word of a variable means; a plugin's channel has keys that only the plugin knows. */
function keyOf(word: string, { known, isOpen }: ReturnType<typeof keysAt>): string | undefined {
  const key = known.find((name) => !name.startsWith('$') && bare(name) === bare(word));
  if (key !== undefined || !isOpen) return key;
  return word.toLowerCase().replaceAll(/_(?<letter>[a-z\d])/gu, (_, letter: string) => letter.toUpperCase());
}

/** A name that the configuration has already, else one that the section is known for, else the word in lower case. */
function entryName(
  word: string,
  {
    program: { presets },
    path,
    entries,
    variable,
  }: { readonly program: Program; readonly path: SettingPath; readonly entries: unknown; readonly variable: string },
): string | undefined {
  if (word === '') return undefined;
  const isMeant = (name: string): boolean => written(name) === written(word);
  const present = typeof entries === 'object' && entries !== null ? Object.keys(entries).filter(isMeant) : [];
  if (present.length > 1) {
    const message = `${variable} could mean ${present.map((name) => JSON.stringify(name)).join(' or ')} in ${path.join('.')}. Set the whole of ${path.join('.')} as JSON in ${variableName(path)} instead.`;
    throw new AppError('config-invalid', message, { exitCode: 78, facts: { variable } });
  }
  const isProvider = path[0] === 'providers' && path.length === 1;
  const known = isProvider ? [...presets].filter(([, { keyVariable }]) => keyVariable !== null) : [];
  const [found = known.map(([name]) => name).find(isMeant)] = present;
  if (found !== undefined) return found;
  if (path.at(-1) === 'env') return word;
  return path.at(-1) === 'headers' ? word.toLowerCase().replaceAll('_', '-') : word.toLowerCase();
}

function unknownVariable({ schema }: Program, name: string): string {
  const guess = nearest(name, candidates(schema, wordsOf(name), []));
  const meant = guess === undefined ? '' : ` Did you mean ${guess}?`;
  return `The variable ${name} is not known and has no effect.${meant}`;
}

/** Every variable there is, with the entries' names as in `words`. */
function candidates(program: unknown, words: readonly string[], path: SettingPath): readonly string[] {
  const inner = innerSchema(program);
  const own = path.length === 0 ? [] : [variableName(path)];
  if (inner instanceof z.ZodObject) {
    const below = Object.entries(inner.shape).filter(([key]) => !key.startsWith('$'));
    return [...own, ...below.flatMap(([key, item]) => candidates(item, words, [...path, key]))];
  }
  if (inner instanceof z.ZodRecord) {
    return [...own, ...candidates(inner.valueType, words, [...path, words[path.length] ?? 'NAME'])];
  }
  return own;
}

/** Without what upper case or a separator would tell: `maxIterations` is `MAX_ITERATIONS`. */
function bare(name: string): string {
  return name.replaceAll(/[_-]/gu, '').toLowerCase();
}

/** A name as it can be written in a variable. */
function written(name: string): string {
  return name.replaceAll(/[^A-Za-z\d]/gu, '_').toLowerCase();
}

function nested([key, ...rest]: SettingPath, value: unknown): Settings {
  return key === undefined ? {} : { [key]: rest.length === 0 ? value : nested(rest, value) };
}

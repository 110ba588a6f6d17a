import JSON5 from 'json5';
import { asFlag, oneLine } from '../util/text.ts';
import { asText, asWords, fieldsOf, isRecord, type Fields } from './fields.ts';
import { readInstallSteps } from './install-steps.ts';
import type { SkillRequirements, SkillText } from './skill.ts';
import { parseYaml } from './yaml.ts';

/** Whose fields are read, in this order. */
const OWNERS = ['assistant', 'nanobot', 'openclaw', 'clawdbot', 'moltbot', 'clawdis'];

const PLATFORMS = new Set(['aix', 'android', 'darwin', 'freebsd', 'linux', 'openbsd', 'sunos', 'win32']);
const PLATFORM_NAMES: Readonly<Record<string, string>> = {
  macos: 'darwin',
  mac: 'darwin',
  osx: 'darwin',
  windows: 'win32',
  win: 'win32',
};
const EVERYWHERE = new Set(['all', 'any', '*']);

const MOST_INSTALL_LINES = 20;

export type SkillMetadata = Pick<
  SkillText,
  | 'always'
  | 'userInvocable'
  | 'disableModelInvocation'
  | 'requires'
  | 'os'
  | 'primaryEnv'
  | 'install'
  | 'installSteps'
  | 'homepage'
  | 'license'
>;

/**
 * What front matter says besides name, description and tools.
 *
 * Each field is looked for in three places, and the first that has it counts: the top level; the map of an assistant
 * under `metadata` (`assistant`, `nanobot`, `openclaw`, `clawdbot`, `moltbot`, `clawdis`: the first of them that exists
 * is read and the others are not, they never merge); `metadata` itself. Requirements are looked for one by one, so
 * `requires.bins` may stand at the top level and `requires.env` in the metadata.
 */
export function readMetadata(fields: Fields): { metadata: SkillMetadata; warnings: string[] } {
  const warnings: string[] = [];
  const places = [fields, ...metadataPaths(fields, warnings)];
  const find = (key: string): unknown => places.map((place) => place.get(key)).find(isGiven);
  const flag = (key: string, name: string, otherwise: boolean): boolean => {
    const value = find(key);
    const read = asFlag(value);
    if (read === undefined && value !== undefined)
      warnings.push(`Its ${name} is neither true nor false and was ignored.`);
    return read ?? otherwise;
  };
  const primaryEnv = asWords(find('primaryenv')).at(0);
  const homepage = asText(find('homepage'));
  const license = asText(find('license'));
  const metadata: SkillMetadata = {
    always: flag('always', 'always', false),
    userInvocable: flag('userinvocable', 'user-invocable', true),
    disableModelInvocation: flag('disablemodelinvocation', 'disable-model-invocation', false),
    requires: readRequires(places, warnings),
    os: readPlatforms(find('os'), warnings),
    ...(primaryEnv === undefined ? {} : { primaryEnv }),
    install: readInstall(find('install')),
    installSteps: readInstallSteps(find('install')),
    ...(homepage === undefined ? {} : { homepage }),
    ...(license === undefined ? {} : { license }),
  };
  return { metadata, warnings };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The assistant's map and `metadata` itself, as far as they are there. */
function metadataPaths(fields: Fields, warnings: string[]): Fields[] {
  const metadata = asMap(fields.get('metadata'));
  if (metadata === undefined) warnings.push('Its metadata is neither YAML nor JSON and was ignored.');
  // Some write `openclaw:` at the top level.
  const holders = [metadata ?? fieldsOf(undefined), fields];
  for (const holder of holders) {
    const owner = OWNERS.find((name) => isGiven(holder.get(name)));
    if (owner === undefined) continue;
    const block = asMap(holder.get(owner));
    if (block === undefined) warnings.push(`Its metadata for ${owner} is not a map, so it was ignored.`);
    return [block ?? fieldsOf(undefined), holders[0] ?? fieldsOf(undefined)];
  }
  return [holders[0] ?? fieldsOf(undefined)];
}

const LONGEST_TEXT = 10_240;

/** A map, or a text that holds one; undefined for what is there and is none. */
function asMap(value: unknown): Fields | undefined {
  if (!isGiven(value) || value === '') return fieldsOf(undefined);
  const read = typeof value === 'string' ? mapIn(value) : value;
  return isRecord(read) ? fieldsOf(read) : undefined;
}

function mapIn(text: string): unknown {
  if (text.length > LONGEST_TEXT) return undefined;
  return parsed(JSON5.parse, text) ?? parsed(parseYaml, text);
}

function parsed(parse: (text: string) => unknown, text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function readRequires(places: readonly Fields[], warnings: string[]): SkillRequirements {
  const given = places.map((place) => place.get('requires')).filter(isGiven);
  const maps = given.flatMap((value) => asMap(value) ?? []);
  if (maps.length < given.length)
    warnings.push('Its requires does not say what kind of things it names: that part was ignored.');
  const words = (...keys: string[]): string[] =>
    asWords(maps.flatMap((map) => keys.map((key) => map.get(key))).find(isGiven));
  const programs = (list: readonly string[]): string[] => list.flatMap((word) => /^[\w./@+-]+/u.exec(word)?.[0] ?? []);
  const env = words('env');
  const names = env.filter((word) => /^[A-Za-z_]\w*$/u.test(word));
  if (names.length < env.length)
    warnings.push('Some names in its requires.env are not names of variables, so they were ignored.');
  return {
    bins: programs(words('bins', 'bin')),
    anyBins: programs(words('anybins')),
    env: names,
    config: words('config'),
  };
}

function readPlatforms(value: unknown, warnings: string[]): string[] {
  const words = asWords(value).map((word) => word.toLowerCase());
  const platforms = new Set<string>();
  for (const word of words) {
    const platform = PLATFORM_NAMES[word] ?? word;
    if (PLATFORMS.has(platform)) platforms.add(platform);
    else if (EVERYWHERE.has(word)) return [];
    else warnings.push(`Its platform ${oneLine(word, 40)} is not known and was ignored.`);
  }
  return [...platforms];
}

/** One line each: `brew: gh`, `npm: some-package`, or what the author wrote. */
function readInstall(value: unknown): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items
    .flatMap((item) => (isRecord(item) ? (installLine(item) ?? []) : (asText(item) ?? [])))
    .map((line) => oneLine(line, 200))
    .slice(0, MOST_INSTALL_LINES);
}

const INSTALL_TARGETS = [
  'formula',
  'cask',
  'package',
  'packages',
  'module',
  'crate',
  'image',
  'url',
  'script',
  'command',
  'cmd',
  'run',
  'instructions',
];

function installLine(item: Readonly<Record<string, unknown>>): string | undefined {
  const fields = fieldsOf(item);
  const text = (key: string): string | undefined => {
    const held = fields.get(key);
    return Array.isArray(held) ? asText(held.map((part) => asText(part) ?? '').join(' ')) : asText(held);
  };
  const kind = text('kind') ?? text('type') ?? text('manager');
  const target = INSTALL_TARGETS.map(text).find((found) => found !== undefined);
  const label = text('label');
  if (kind !== undefined) return [kind, target ?? label].filter((part) => part !== undefined).join(': ');
  if (target !== undefined) return target;
  if (label !== undefined) return label;
  // `{ brew: gh }`
  const [key] = fields.keys();
  const held = key === undefined ? undefined : text(key);
  return held === undefined ? undefined : `${key}: ${held}`;
}

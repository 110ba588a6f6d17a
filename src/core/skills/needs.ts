import { statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { isRecord } from './fields.ts';
import { gettingPrograms, type GettingPrograms } from './install-steps.ts';
import type { SkillText } from './skill.ts';
import { folderStampOf, type Stamps } from './walk.ts';

/** What skills find where the assistant runs. */
export interface SkillHost {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration. */
  readonly config: Readonly<Record<string, unknown>>;
  /** As in `process.platform`. */
  readonly platform: string;
}

export interface SkillNeeds {
  /** What a skill requires and is not there, one short phrase each. */
  missing(skill: SkillText, place: { folder: string; env: Readonly<Record<string, string>> }): readonly string[];
  /** How the programs among `missing` come onto this system. */
  getting(skill: Pick<SkillText, 'installSteps'>, missing: readonly string[]): GettingPrograms;
  /** The folders of the PATH: an installed program changes them. */
  readonly stamps: Stamps;
}

/** How a phrase about a missing program begins. */
const PROGRAM = 'program ';

/** Looks requirements up, each program once; nothing is run. */
export function lookUpNeeds({ env, config, platform }: SkillHost): SkillNeeds {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const stamps: Stamps = new Map(folders.map((folder) => [folder, folderStampOf(folder)]));
  const known = new Map<string, boolean>();
  const isThere = (program: string, skillFolder: string): boolean => {
    if (program.includes('/')) return isProgram(isAbsolute(program) ? program : join(skillFolder, program));
    const found = known.get(program) ?? folders.some((folder) => isProgram(join(folder, program)));
    known.set(program, found);
    return found;
  };
  const missing: SkillNeeds['missing'] = ({ requires, os }, place) => {
    const has = (program: string): boolean => isThere(program, place.folder);
    const isSet = (name: string): boolean => (ownValue(place.env, name) ?? ownValue(env, name) ?? '') !== '';
    const phrases: string[] = [];
    if (os.length > 0 && !os.includes(platform)) phrases.push(`system ${os.join(' or ')}`);
    phrases.push(...requires.bins.filter((program) => !has(program)).map((program) => `${PROGRAM}${program}`));
    if (requires.anyBins.length > 0 && !requires.anyBins.some(has)) {
      phrases.push(`${PROGRAM}${requires.anyBins.join(' or ')}`);
    }
    phrases.push(...requires.env.filter((name) => !isSet(name)).map((name) => `variable ${name}`));
    phrases.push(...requires.config.filter((path) => !isTrue(config, path)).map((path) => `setting ${path}`));
    return phrases;
  };
  const getting: SkillNeeds['getting'] = ({ installSteps }, phrases) => {
    const programs = phrases.flatMap((phrase) => (phrase.startsWith(PROGRAM) ? [phrase.slice(PROGRAM.length)] : []));
    const lists = programs.map((names) => names.split(' or '));
    return gettingPrograms(installSteps, lists, { platform, has: (program) => isThere(program, '/') });
  };
  return { missing, getting, stamps };
}

function isProgram(path: string): boolean {
  try {
    const facts = statSync(path);
    return facts.isFile() && (facts.mode & 0o111) !== 0;
  } catch {
    return false;
  }
}

/** Whether the setting at a dotted path is there and neither false, 0, null nor empty. */
function isTrue(config: Readonly<Record<string, unknown>>, path: string): boolean {
  let value: unknown = config;
  for (const key of path.split('.')) value = isRecord(value) ? ownValue(value, key) : undefined;
  if (isRecord(value)) return Object.keys(value).length > 0;
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

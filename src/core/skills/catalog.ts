import { assistantCommand } from '../util/assistant-command.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { lookUpNeeds, type SkillNeeds, type SkillHost } from './needs.ts';
import { decodePlain, readPlainFile } from './plain-file.ts';
import type { Skill, SkillText } from './skill.ts';
import { isCurrent, folderStampOf, type Stamps, walkRoot, type FoundSkill, type SkillRoot } from './walk.ts';
import { WatchedStamps } from './watched-stamps.ts';
import { LARGEST_SKILL, pinOf, readPins, type SkillPins } from './pins.ts';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const DEEPEST = 6;

export interface SkillCatalogOptions extends SkillHost {
  /** Of two skills with one name the one in the earlier root counts. */
  readonly roots: readonly SkillRoot[];
  /** Names of skills that are left out. */
  readonly disabled: readonly string[];
  /** By name. */
  readonly entries: Readonly<
    Record<
      string,
      { readonly enabled: boolean; readonly trusted?: boolean; readonly env: Readonly<Record<string, string>> }
    >
  >;
  /** The file with what a person agreed to of the skills of other programs. @default null: nothing */
  readonly pins?: string | null;
  /** What is read at most: skills altogether, folders of one root. @default 2,000 and 10,000 */
  readonly most?: { readonly skills?: number; readonly folders?: number };
  readonly log: Logger;
  /** Tells `current` of changes. @default the system's watches */
  readonly watched?: WatchedStamps;
}

/** A skill of another program that no one agreed to yet, or not as it is now. */
export interface FoundSkillOfOthers extends Skill {
  /** Somebody agreed to an earlier text. */
  readonly changed: boolean;
}

/** Everything that was found. */
export interface SkillSurvey {
  /** What can be used, or could if nothing were missing; by name. */
  readonly skills: readonly Skill[];
  /** What the configuration leaves out; by name. */
  readonly disabled: readonly Skill[];
  /** What other programs brought and no one agreed to; by name. */
  readonly found: readonly FoundSkillOfOthers[];
  /** What was found and is not used, one sentence each. */
  readonly warnings: readonly string[];
}

export interface LoadedSkill {
  readonly skill: Skill;
  /** The skill's text, with its folder in place of `{baseDir}` and `$SKILL_DIR`. */
  readonly text: string;
  /** The line of its file with which the text begins, from 1. */
  readonly line: number;
}

const MOST_SKILLS = 2_000;
/** Bytes of all of them together. */
const MOST_BYTES = 48_000_000;
const MOST_NAMED = 10;

interface ReadFile {
  readonly stamp: string;
  readonly text: SkillText;
  readonly line: number;
  readonly bytes: number;
  /** What a yes is bound to. */
  readonly pin: string;
}

interface Candidate extends FoundSkill {
  readonly source: Skill['source'];
  readonly read: ReadFile;
}

/** Every skill that lies in some folders, as they are now. */
export class SkillCatalog implements Disposable {
  readonly #options: SkillCatalogOptions;
  readonly #watched: WatchedStamps;
  #files: ReadonlyMap<string, ReadFile> = new Map();
  #candidates: readonly Candidate[] = [];
  #warnings: readonly string[] = [];
  #pins: SkillPins = new Map();
  /** Undefined before the first look. */
  #stamps: Stamps | undefined;
  #needs: SkillNeeds | undefined;
  #judgedBy: Pick<SkillCatalogOptions, 'disabled' | 'entries'> | undefined;
  #survey: SkillSurvey = { skills: [], disabled: [], found: [], warnings: [] };
  /** One look after the other: each sees what was changed before it was asked for. */
  #last: Promise<unknown> = Promise.resolve();
  /** A look that has not begun yet; callers that ask meanwhile share it. */
  #next: Promise<SkillSurvey> | undefined;

  constructor(options: SkillCatalogOptions) {
    this.#options = options;
    this.#watched = options.watched ?? new WatchedStamps();
  }

  /** The skills that are not left out, by name. The same array as long as nothing changed. Never throws. */
  async read(): Promise<readonly Skill[]> {
    return (await this.survey()).skills;
  }

  /**
   * As `read`, for the beginning of each turn: folders of skills are watched from the first call on, and not looked at
   * one by one while nothing changed in them. `dispose` ends that.
   */
  async current(): Promise<readonly Skill[]> {
    if (this.#watched.isCurrent && this.#isJudged()) return this.#survey.skills;
    const looked = this.#watched.begin();
    const skills = await this.read();
    looked(this.#stamps);
    return skills;
  }

  /** There are other roots now: the next look begins anew. */
  rootsChanged(): void {
    this.#stamps = undefined;
    this.#judgedBy = undefined;
  }

  [Symbol.dispose](): void {
    this.#watched[Symbol.dispose]();
  }

  /** As `read`, but of the last look where there was one: for what is asked many times in a turn, which began with a look. */
  async lastRead(): Promise<readonly Skill[]> {
    return this.#stamps === undefined ? await this.read() : this.#survey.skills;
  }

  async survey(): Promise<SkillSurvey> {
    if (this.#next === undefined) {
      const refresh = (): Promise<SkillSurvey> => {
        this.#next = undefined;
        return this.#refresh();
      };
      this.#next = this.#last.then(refresh, refresh);
      this.#last = this.#next;
    }
    return await this.#next;
  }

  /** The text of a skill that is not left out. */
  async load(name: string): Promise<LoadedSkill | undefined> {
    const skill = (await this.read()).find((candidate) => candidate.name === name);
    if (skill === undefined) return undefined;
    const text = substitute(skill.body, { baseDir: skill.folder });
    return { skill, text, line: this.#files.get(skill.file)?.line ?? 1 };
  }

  /** Real paths of the folders of all skills that were read last: tools may read in them. */
  folders(): readonly string[] {
    return this.#survey.skills.map(({ folder }) => folder);
  }

  /** What else lies in a skill's folder: relative paths, in order. */
  async files(
    skill: Pick<Skill, 'folder' | 'file'>,
    most: number,
  ): Promise<{ paths: readonly string[]; more: boolean }> {
    const own = skill.file.slice(skill.folder.length + 1);
    const { paths, more } = await listFiles(skill.folder, most + 1);
    const others = paths.filter((path) => path !== own);
    return { paths: others.slice(0, most), more: more || others.length > most };
  }

  async #refresh(): Promise<SkillSurvey> {
    const isKnown = this.#stamps !== undefined && isCurrent(this.#stamps);
    if (!isKnown) await this.#scan();
    else if (this.#isJudged()) return this.#survey;
    this.#needs = lookUpNeeds(this.#options);
    const before = new Set(this.#survey.warnings);
    this.#survey = this.#judge(this.#needs);
    const { log } = this.#options;
    for (const reason of this.#survey.warnings) if (!before.has(reason)) log.warn('skills: warning', { reason });
    if (!isKnown) this.#report();
    return this.#survey;
  }

  async #scan(): Promise<void> {
    const stamps: Stamps = new Map();
    const warnings: string[] = [];
    const files = new Map<string, ReadFile>();
    const candidates: Candidate[] = [];
    const { pins, most: { skills: mostSkills = MOST_SKILLS, folders: mostFolders } = {} } = this.#options;
    const agreed = typeof pins === 'string' ? readPins(pins) : { pins: new Map<string, string>(), warnings: [] };
    if (typeof pins === 'string') stamps.set(pins, folderStampOf(pins));
    warnings.push(...agreed.warnings);
    let bytes = 0;
    let left = 0;
    for (const root of this.#options.roots) {
      const walk = await walkRoot(root, mostFolders);
      for (const [path, stamp] of walk.stamps) stamps.set(path, stamp);
      warnings.push(...walk.warnings);
      for (const found of walk.found) {
        if (files.has(found.file)) continue;
        if (files.size >= mostSkills || bytes >= MOST_BYTES) {
          left += 1;
          continue;
        }
        try {
          const read = await this.#readFile(found);
          bytes += read.bytes;
          files.set(found.file, read);
          candidates.push({ ...found, source: root.source, read });
        } catch (error) {
          warnings.push(`The skill in ${found.folder} is not used: ${errorMessage(error)}`);
        }
      }
    }
    if (left > 0) {
      const limit = `at most ${mostSkills} skills of together ${MOST_BYTES / 1_000_000} MB`;
      warnings.push(`There are too many skills: ${limit} are read, ${left} are left out.`);
    }
    this.#stamps = stamps;
    this.#files = files;
    this.#candidates = candidates;
    this.#pins = agreed.pins;
    this.#warnings = warnings;
  }

  async #readFile({ file, folderName }: FoundSkill): Promise<ReadFile> {
    const stamp = folderStampOf(file);
    const known = this.#files.get(file);
    if (known?.stamp === stamp) return known;
    const { bytes, size } = await readPlainFile(file, LARGEST_SKILL);
    const content = decodePlain(bytes);
    // YAML and its relatives take longer to load than all of the daemon: not before the first look.
    const { readSkillText } = await import('./skill-text.ts');
    const text = readSkillText(content, { folderName });
    const isCut = size > bytes.length;
    const limit = `It has ${Math.ceil(size / 1_000)} kB; only the first ${LARGEST_SKILL / 1_000} kB were read.`;
    return {
      stamp,
      text: isCut ? { ...text, warnings: [...text.warnings, limit] } : text,
      line: lineOf(content, text.body),
      bytes: bytes.length,
      pin: pinOf(bytes),
    };
  }

  /** Whether the settings and the installed programs are those of the last look. */
  #isJudged(): boolean {
    const { disabled, entries } = this.#options;
    if (this.#judgedBy?.disabled !== disabled || this.#judgedBy.entries !== entries) return false;
    return this.#needs !== undefined && isCurrent(this.#needs.stamps);
  }

  /** Which name goes to which skill, what is left out, what is missing. */
  #judge(needs: SkillNeeds): SkillSurvey {
    const { disabled, entries } = this.#options;
    this.#judgedBy = { disabled, entries };
    const warnings = [...this.#warnings];
    const byName = new Map<string, Skill>();
    const found: FoundSkillOfOthers[] = [];
    for (const { folder, file, source, read } of this.#candidates) {
      const { name } = read.text;
      const { env, trusted = false } = (Object.hasOwn(entries, name) ? entries[name] : undefined) ?? { env: {} };
      const missing = needs.missing(read.text, { folder, env });
      const getting = needs.getting(read.text, missing);
      const foreign = source !== 'package' && !trusted;
      const skill = { ...read.text, folder, file, source, foreign, missing, getting };
      const isAgreed = source !== 'user' || trusted || this.#pins.get(folder) === read.pin;
      if (!isAgreed) {
        found.push({ ...skill, changed: this.#pins.has(folder) });
        continue;
      }
      const first = byName.get(name);
      if (first !== undefined) {
        warnings.push(
          `The skill ${name} in ${folder} is not used: the one in ${first.folder} has the same name and comes first.`,
        );
        continue;
      }
      byName.set(name, skill);
    }
    const all = [...byName.values()].sort(byTheirNames);
    const isOff = ({ name }: Skill): boolean =>
      disabled.includes(name) || (Object.hasOwn(entries, name) && entries[name]?.enabled === false);
    return {
      skills: all.filter((skill) => !isOff(skill)),
      disabled: all.filter(isOff),
      found: found.filter((skill) => !isOff(skill)).sort(byTheirNames),
      warnings,
    };
  }

  #report(): void {
    const odd = this.#survey.skills.filter(({ warnings }) => warnings.length > 0);
    this.#tell(`some skills have mistakes; to see them, run: ${assistantCommand('skills check')}`, odd);
    const message = `skills of other programs were found and are not used; to use one, run: ${assistantCommand('skills enable NAME')}`;
    this.#tell(message, this.#survey.found);
  }

  #tell(message: string, skills: readonly Skill[]): void {
    if (skills.length === 0) return;
    const names = skills
      .map(({ name }) => name)
      .slice(0, MOST_NAMED)
      .join(', ');
    this.#options.log.info(message, { count: skills.length, names });
  }
}

function byTheirNames(a: Skill, b: Skill): number {
  return a.name < b.name ? -1 : 1;
}

/** The line of a file with which its body begins, from 1. */
function lineOf(content: string, body: string): number {
  const text = content.replace(/\r\n?/gu, '\n');
  const start = text.endsWith(body) ? text.length - body.length : Math.max(0, text.indexOf(body));
  return text.slice(0, start).split('\n').length;
}

/** Puts a skill's folder in place of `{baseDir}`, `$SKILL_DIR` and `${SKILL_DIR}`; `${baseDir}` is somebody else's. */
export function substitute(body: string, place: { readonly baseDir: string }): string {
  return body.replace(/(?<!\$)\{baseDir\}|\$\{SKILL_DIR\}|\$SKILL_DIR(?!\w)/gu, () => place.baseDir);
}

/**
 * The files of a skill's folder, relative, in order, at most `most`; links, names with a dot in front and
 * `node_modules` are left out. What cannot be read is left out too.
 */
async function listFiles(folder: string, most: number): Promise<{ paths: readonly string[]; more: boolean }> {
  const paths: string[] = [];
  const visit = async (prefix: string, depth: number): Promise<void> => {
    const entries = await readdir(join(folder, prefix), { withFileTypes: true }).catch(() => []);
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (paths.length > most) return;
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const path = join(prefix, entry.name);
      if (entry.isFile()) paths.push(path);
      if (entry.isDirectory() && depth < DEEPEST) await visit(path, depth + 1);
    }
  };
  await visit('', 0);
  return { paths: paths.slice(0, most), more: paths.length > most };
}

import { createHash } from 'node:crypto';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { putFolder, removeFolder } from '../storage/folders.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError, errorCode } from '../util/errors.ts';
import { decodePlain, readPlainFile } from './plain-file.ts';
import { pinOf } from './pins.ts';
import { findRisks, isMedia, MEDIA_NAME, type Risk } from './risks.ts';
import { readSkillText } from './skill-text.ts';
import type { Skill, SkillText } from './skill.ts';

export interface PlannedFile {
  /** Relative to the skill's folder, with slashes. */
  readonly path: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
  /** Its owner may run it as a program; it will be so in the copy too. */
  readonly executable: boolean;
  readonly bytes: Uint8Array;
}

/** A skill that could be added: what a person has to see before they say yes. */
export interface InstallPlan {
  /** Real path of the folder that is copied. */
  readonly folder: string;
  readonly skill: SkillText;
  /** All that will be copied, in order. */
  readonly files: readonly PlannedFile[];
  /** Bytes of all files. */
  readonly size: number;
  readonly risks: readonly Risk[];
  /** What a yes to the text of its `SKILL.md` is bound to. */
  readonly pin: string;
}

const MOST_FILES = 500;
const MB = 1024 * 1024;
/** Bytes of all that is read by a model or run. */
const MOST_TEXT_BYTES = 5 * MB;
/** Bytes of all that is only shown or heard: fonts, pictures, sounds, documents. */
const MOST_MEDIA_BYTES = 50 * MB;
const DEEPEST = 20;
const NOT_COPIED = new Set(['.git', '.DS_Store']);

/**
 * Reads the skill in a folder, or the one whose `SKILL.md` is named, without changing anything. Throws an `AppError`
 * that says what is wrong: no skill there, a link that leads out of the folder or to another folder, a device, over
 * 5 MB (fonts, pictures, sounds and documents: 50 MB) or 500 files. `.git` is not copied.
 */
export async function planInstall(path: string): Promise<InstallPlan> {
  const folder = await folderOf(path);
  const files: PlannedFile[] = [];
  const space = { text: MOST_TEXT_BYTES, media: MOST_MEDIA_BYTES };
  for (const { name, real } of await filesIn(folder)) {
    // What calls itself media and is none counts as text, as much of it as there is.
    const most = MEDIA_NAME.test(name) ? Math.max(space.text, space.media) : space.text;
    const { bytes, executable } = await readPlainFile(real, most + 1);
    const kind = isMedia({ path: name, bytes }) ? 'media' : 'text';
    space[kind] -= bytes.length;
    if (space[kind] < 0) throw refusal(tooLarge(folder, kind));
    files.push({ path: name, size: bytes.length, sha256: hashOf(bytes), executable, bytes });
  }
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const main = files.find((file) => /^skill\.md$/iu.test(file.path));
  if (main === undefined) throw refusal(`${folder} has no SKILL.md, so it is not a skill.`);
  const skill = readSkillText(decodePlain(main.bytes), { folderName: basename(folder) });
  return { folder, skill, files, size, risks: findRisks(files), pin: pinOf(main.bytes) };
}

/**
 * Copies what was planned into the folder of the workspace's skills, under the skill's name, in one step; what changed
 * in its own folder meanwhile is not copied. Returns the new folder. Throws an `AppError` when the name is taken and
 * `replace` is false.
 */
export async function installSkill(
  plan: Pick<InstallPlan, 'skill' | 'files'>,
  options: { readonly workspaceSkills: string; readonly replace: boolean },
): Promise<string> {
  const { name } = plan.skill;
  const changed = plan.files.find(({ bytes, sha256 }) => hashOf(bytes) !== sha256);
  if (changed !== undefined) throw refusal(`${changed.path} is not what was shown.`);
  const target = join(options.workspaceSkills, name);
  const files = plan.files.map(({ path, bytes, executable }) => ({ path, bytes, mode: executable ? 0o700 : 0o600 }));
  try {
    await putFolder(target, files, { replace: options.replace });
  } catch (error) {
    if (errorCode(error) !== 'exists') throw error;
    throw new AppError('skill-exists', taken(name), { cause: error });
  }
  return target;
}

/**
 * Why a skill of this name cannot be put into the workspace as things are, as a sentence; null: it can. `known`: all
 * skills that were found.
 */
export async function findObstacle(
  name: string,
  options: { readonly workspaceSkills: string; readonly known: readonly Skill[]; readonly replace: boolean },
): Promise<string | null> {
  const root = await realpath(options.workspaceSkills).catch(() => options.workspaceSkills);
  const target = join(root, name);
  const own = options.known.find((skill) => skill.name === name && skill.source === 'workspace');
  if (own !== undefined && own.folder !== target) {
    return `The workspace has a skill ${name} in ${own.folder}. Remove that one first: ${assistantCommand(`skills remove ${name}`)}`;
  }
  if (own !== undefined) return options.replace ? null : taken(name);
  const isThere = await lstat(target).then(
    () => true,
    () => false,
  );
  return isThere ? `There is something at ${target} that is not a skill ${name}. Move it away first.` : null;
}

function taken(name: string): string {
  return `The workspace has a skill ${name} already. Add --replace to put this one in its place.`;
}

/** Removes a skill's folder. Only what lies in the workspace is a person's own to remove. */
export async function removeSkill(skill: Skill, workspaceSkills: string): Promise<void> {
  const root = await realpath(workspaceSkills).catch(() => workspaceSkills);
  if (skill.source !== 'workspace' || !skill.folder.startsWith(root + sep)) {
    const message = `The skill ${skill.name} lies in ${skill.folder}, not in the workspace, so it is not removed. Its name in skills.disabled of the settings turns it off.`;
    throw new AppError('skill-not-removable', message);
  }
  await removeFolder(skill.folder);
}

function tooLarge(folder: string, kind: 'text' | 'media'): string {
  return kind === 'text'
    ? `${folder} holds more than ${MOST_TEXT_BYTES / MB} MB beside fonts, pictures, sounds and documents.`
    : `${folder} holds more than ${MOST_MEDIA_BYTES / MB} MB of fonts, pictures, sounds and documents.`;
}

async function folderOf(path: string): Promise<string> {
  try {
    const facts = await stat(path);
    if (facts.isDirectory()) return await realpath(path);
    if (facts.isFile() && /^skill\.md$/iu.test(basename(path))) return dirname(await realpath(path));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') throw refusal(`There is nothing at ${path}.`);
    throw error;
  }
  throw refusal(
    `A folder with a SKILL.md was expected, but ${path} is a file. Unpack archives and clone repositories first.`,
  );
}

interface FoundFile {
  readonly name: string;
  /** Where its bytes lie. */
  readonly real: string;
}

async function filesIn(root: string): Promise<readonly FoundFile[]> {
  const found: FoundFile[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    if (depth > DEEPEST) throw refusal(`${folder} lies too deep.`);
    const entries = await readdir(folder, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (NOT_COPIED.has(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        await visit(path, depth + 1);
        continue;
      }
      const name = relative(root, path).split(sep).join('/');
      if (entry.isFile()) found.push({ name, real: path });
      else if (entry.isSymbolicLink()) found.push({ name, real: await linkTarget(path, root) });
      else throw refusal(`${path} is a device, pipe or socket.`);
      if (found.length > MOST_FILES) throw refusal(`${root} holds more than ${MOST_FILES} files.`);
    }
  };
  await visit(root, 0);
  return found;
}

/** A link to another file of the same folder is copied as that file. */
async function linkTarget(link: string, root: string): Promise<string> {
  const real = await realpath(link).catch(() => undefined);
  if (real === undefined) throw refusal(`${link} is a link that leads nowhere.`);
  if (!real.startsWith(root + sep)) throw refusal(`${link} is a link that leads out of the folder, to ${real}.`);
  if (!(await lstat(real)).isFile()) throw refusal(`${link} is a link to something that is no file.`);
  return real;
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function refusal(message: string): AppError {
  return new AppError('skill-refused', message);
}

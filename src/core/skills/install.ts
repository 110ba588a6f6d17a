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
  /** Whether the owner's execute bit is set; the copy gets it too. */
  readonly executable: boolean;
  readonly bytes: Uint8Array;
}

/** A file that may become part of a plan. */
export type PlanFile = Pick<PlannedFile, 'path' | 'bytes' | 'executable'>;

/** A skill that can be added, with everything that a person should see before they agree. */
export interface InstallPlan {
  /** Real path of the folder that is copied. */
  readonly folder: string;
  readonly skill: SkillText;
  /** All files that will be copied, ordered by name within each folder. */
  readonly files: readonly PlannedFile[];
  /** Bytes of all files. */
  readonly size: number;
  readonly risks: readonly Risk[];
  /** Hash of its `SKILL.md` (`pinOf`): the person's agreement holds only for this text. */
  readonly pin: string;
}

const MOST_FILES = 500;
const MB = 1024 * 1024;
/** Cap of all files that are not media, in bytes. */
const MOST_TEXT_BYTES = 5 * MB;
/** Cap of all media files (fonts, pictures, sounds, documents), in bytes. */
const MOST_MEDIA_BYTES = 50 * MB;
/** Most levels of folders inside each other. */
const DEEPEST = 20;
const NOT_COPIED = new Set(['.git', '.DS_Store']);

/**
 * Reads a skill without changing anything. `path` is its folder or its `SKILL.md`. Throws an `AppError` with the reason when
 * there is no skill, when it has a device or a link that leads out of the folder or to a folder, and when it has more than
 * 500 files, 50 MB of media or 5 MB of other files. Leaves out `.git`.
 */
export async function planInstall(path: string): Promise<InstallPlan> {
  const folder = await folderOf(path);
  const files: PlanFile[] = [];
  const space = { text: MOST_TEXT_BYTES, media: MOST_MEDIA_BYTES };
  for (const { name, real } of await filesIn(folder)) {
    // A file that has the name of a media file but other content counts as text, with its full size.
    const most = MEDIA_NAME.test(name) ? Math.max(space.text, space.media) : space.text;
    const { bytes, executable } = await readPlainFile(real, most + 1);
    const kind = isMedia({ path: name, bytes }) ? 'media' : 'text';
    space[kind] -= bytes.length;
    if (space[kind] < 0) throw refusal(tooLarge(folder, kind));
    files.push({ path: name, executable, bytes });
  }
  return planFiles(files, { folder, folderName: basename(folder) });
}

/** The plan of files that were read already; `folder`: what sentences call their place. Throws as `planInstall` does. */
export function planFiles(
  given: readonly PlanFile[],
  { folder, folderName }: { readonly folder: string; readonly folderName: string },
): InstallPlan {
  const space = { text: MOST_TEXT_BYTES, media: MOST_MEDIA_BYTES };
  for (const file of given) {
    const kind = isMedia(file) ? 'media' : 'text';
    space[kind] -= file.bytes.length;
    if (space[kind] < 0) throw refusal(tooLarge(folder, kind));
  }
  const files = given.map((file) => ({ ...file, size: file.bytes.length, sha256: hashOf(file.bytes) }));
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const main = files.find((file) => /^skill\.md$/iu.test(file.path));
  if (main === undefined) throw refusal(`${folder} has no SKILL.md, so it is not a skill.`);
  const skill = readSkillText(decodePlain(main.bytes), { folderName });
  return { folder, skill, files, size, risks: findRisks(files), pin: pinOf(main.bytes) };
}

/**
 * Writes the files of a plan, from memory and in one step, into a folder of the skill's name below `workspaceSkills`. Returns
 * that folder. Throws an `AppError`: `skill-exists` when the name is taken and `replace` is false, `skill-refused` when the
 * bytes of the plan were changed.
 */
export async function installSkill(
  plan: Pick<InstallPlan, 'skill' | 'files'>,
  options: { readonly workspaceSkills: string; readonly replace: boolean },
): Promise<string> {
  const { name } = plan.skill;
  const changed = plan.files.find(({ bytes, sha256 }) => hashOf(bytes) !== sha256);
  if (changed !== undefined) throw refusal(`${changed.path} changed after it was shown. Run the command again.`);
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
 * A sentence that says why a skill of this name cannot be installed into the workspace; null when it can. `known`: all skills
 * that are found now.
 */
export async function findObstacle(
  name: string,
  options: { readonly workspaceSkills: string; readonly known: readonly Skill[]; readonly replace: Replace },
): Promise<string | null> {
  const root = await realpath(options.workspaceSkills).catch(() => options.workspaceSkills);
  const target = join(root, name);
  const own = options.known.find((skill) => skill.name === name && skill.source === 'workspace');
  if (own !== undefined && own.folder !== target) {
    return `The workspace has a skill ${name} in ${own.folder}. Remove that one first: ${assistantCommand(`skills remove ${name}`)}`;
  }
  if (own !== undefined) return options.replace === true ? null : taken(name, options.replace);
  const isThere = await lstat(target).then(
    () => true,
    () => false,
  );
  return isThere ? `There is something at ${target} that is not a skill ${name}. Move it away first.` : null;
}

/** Whether a skill of the same name is replaced; `never`: a person can't ask for that here. */
export type Replace = boolean | 'never';

function taken(name: string, replace: Replace = false): string {
  const hint = replace === 'never' ? '' : ' To replace it, add --replace.';
  return `The workspace has a skill ${name} already.${hint}`;
}

/** Removes the folder of a skill. Throws `skill-not-removable` for a skill outside the workspace. */
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
  /** Real path of the file: of a link, its target. */
  readonly real: string;
}

async function filesIn(root: string): Promise<readonly FoundFile[]> {
  const found: FoundFile[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    if (depth > DEEPEST) throw refusal(`${folder} is more than ${DEEPEST} folders deep.`);
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

/** Real path of a link's target. Throws unless the target is a regular file below `root`. */
async function linkTarget(link: string, root: string): Promise<string> {
  const real = await realpath(link).catch(() => undefined);
  if (real === undefined) throw refusal(`${link} is a link whose target does not exist.`);
  if (!real.startsWith(root + sep)) throw refusal(`${link} is a link that leads out of the folder, to ${real}.`);
  if (!(await lstat(real)).isFile()) throw refusal(`${link} is a link to something that is not a file.`);
  return real;
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function refusal(message: string): AppError {
  return new AppError('skill-refused', message);
}

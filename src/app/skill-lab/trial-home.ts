import type { Program } from '../../core/program.ts';
import { existsSync } from 'node:fs';
import { lstat, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Environment } from '../../core/config/environment.ts';
import { homePaths, type HomePaths } from '../../core/config/home.ts';
import { initHome } from '../../core/config/init.ts';
import { installSkill, planFiles, planInstall } from '../../core/skills/install.ts';
import { CASES_FILE, type Skill } from '../../core/skills/skill.ts';
import { copyFolder } from '../../core/storage/copy-folder.ts';
import { ensureDirectory, namesIn, readIfExists, replaceDurable } from '../../core/storage/files.ts';
import type { Clock } from '../../core/util/clock.ts';
import { workspaceSkills } from '../../core/skills/open-skills.ts';

/** What of a real workspace is copied for a trial. */
const COPIED = { files: 20_000, bytes: 200_000_000, without: new Set(['.git', 'node_modules']) };

export interface TrialHomeOptions {
  readonly program: Program;
  readonly env: Environment;
  readonly clock: Pick<Clock, 'now'>;
  /** Copied into its workspace; null: it has none, or has it anyway. */
  readonly skill: Skill | null;
  /** The real home, whose agreed tools of MCP servers it knows. */
  readonly real: Pick<HomePaths, 'mcpPins' | 'workspace'>;
  /** Laid into its workspace: contents by relative path. */
  readonly files: Readonly<Record<string, string>>;
  /** Its workspace: a copy of the real one, where there is one, or that of a new home. */
  readonly workspace: 'copy' | 'new';
}

/** A home that no one keeps: it is removed when it is disposed of. */
export interface TrialHome extends AsyncDisposable {
  readonly paths: HomePaths;
  /** Files of the real workspace that are not in the copy. */
  readonly left: number;
}

const PREFIX = 'assistant-trial-';
/** A trial ends long before. */
const OLD_MS = 24 * 3_600_000;

/**
 * Makes a home in the folder for temporary files, and removes those that a killed process left there a day ago. Keys are
 * never written into it.
 */
export async function openTrialHome({
  env,
  clock,
  program,
  skill,
  real,
  files,
  workspace,
}: TrialHomeOptions): Promise<TrialHome> {
  const parent = await realpath(env['TMPDIR'] ?? tmpdir());
  await removeOld(parent, clock.now() - OLD_MS);
  const folder = await mkdtemp(join(parent, PREFIX));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const paths = homePaths(folder, env);
  const isCopied = workspace === 'copy' && existsSync(real.workspace);
  const left = isCopied ? await copyFolder(real.workspace, paths.workspace, COPIED) : 0;
  if (!isCopied) await initHome(paths, program, { config: '{}\n' });
  const agreed = await readIfExists(real.mcpPins);
  if (agreed !== undefined) await replaceDurable(paths.mcpPins, agreed);
  for (const [path, content] of Object.entries(files)) {
    const file = join(paths.workspace, path);
    await ensureDirectory(dirname(file));
    await replaceDurable(file, content);
  }
  if (skill !== null) await putSkill(skill, workspaceSkills(paths));
  const owned = stack.move();
  return { paths, left, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function removeOld(parent: string, before: number): Promise<void> {
  for (const name of await namesIn(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    const facts = await lstat(join(parent, name)).catch(() => undefined);
    const isOld = facts?.isDirectory() === true && facts.uid === process.getuid?.() && facts.mtimeMs < before;
    if (isOld) await rm(join(parent, name), { recursive: true, force: true });
  }
}

/** The skill as a workspace has it, without its cases: a model that reads them knows what is expected. */
async function putSkill(skill: Skill, folder: string): Promise<void> {
  const all = await planInstall(skill.folder);
  const files = all.files.filter(({ path }) => path !== CASES_FILE);
  const plan = planFiles(files, { folder: skill.folder, folderName: skill.name });
  await installSkill(plan, { workspaceSkills: folder, replace: true });
}

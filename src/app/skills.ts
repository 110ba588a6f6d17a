import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../config/environment.ts';
import type { HomePaths } from '../config/home.ts';
import { packageFile } from '../config/package-file.ts';
import type { Config } from '../config/schema.ts';
import { SkillCatalog } from '../skills/catalog.ts';
import { findObstacle, installSkill, planInstall, removeSkill, type InstallPlan } from '../skills/install.ts';
import type { Skill } from '../skills/skill.ts';
import { activeSkills, skillsIndex } from '../skills/skills-index.ts';
import type { SkillRoot } from '../skills/walk.ts';
import { silentLog, type Logger } from '../util/log.ts';

export type { InstallPlan } from '../skills/install.ts';
export type { Risk } from '../skills/risks.ts';
export type { Skill } from '../skills/skill.ts';

/** Where skills lie, in the order in which their names count. */
function skillRoots(paths: HomePaths, env: Environment): readonly SkillRoot[] {
  const bundled = packageFile('skills');
  return [
    { path: workspaceSkills(paths), source: 'workspace' },
    { path: join(env['HOME'] ?? homedir(), '.agents', 'skills'), source: 'user' },
    ...(bundled === undefined ? [] : [{ path: bundled, source: 'package' as const }]),
  ];
}

function workspaceSkills(paths: HomePaths): string {
  return join(paths.workspace, 'skills');
}

/** The skills of a home. `env`: where programs and variables are looked for. */
export function openSkills(
  config: Config,
  paths: HomePaths,
  { env, log = silentLog }: { readonly env: Environment; readonly log?: Logger },
): SkillCatalog {
  return new SkillCatalog({
    roots: skillRoots(paths, env),
    env,
    config,
    disabled: config.skills.disabled,
    entries: config.skills.entries,
    platform: process.platform,
    log,
  });
}

/** The two layers of the prompt that skills make up; rendered again when a skill changed. */
export function skillLayers(
  catalog: Pick<SkillCatalog, 'read' | 'load'>,
): () => Promise<{ readonly active: string | null; readonly index: string | null }> {
  let made: { from: readonly Skill[]; layers: { active: string | null; index: string | null } } | undefined;
  return async () => {
    const skills = await catalog.read();
    if (made?.from === skills) return made.layers;
    const always = skills.filter(({ always, missing }) => always && missing.length === 0);
    const loaded = await Promise.all(always.map(({ name }) => catalog.load(name)));
    const layers = {
      active: activeSkills(loaded.filter((found) => found !== undefined)),
      index: skillsIndex(skills),
    };
    made = { from: skills, layers };
    return layers;
  };
}

/** What the command line does with the skills of a home; it touches files only. */
export interface SkillShop {
  readonly catalog: SkillCatalog;
  /** Where skills are added. */
  readonly folder: string;
  /** Reads a skill that is somewhere, changing nothing. */
  readonly plan: (path: string) => Promise<InstallPlan>;
  /** Why a plan can not be carried out as things are; null: it can. */
  readonly obstacle: (plan: InstallPlan, options: { readonly replace: boolean }) => Promise<string | null>;
  /** Copies what was planned into the workspace; returns the new folder. */
  readonly add: (plan: InstallPlan, options: { readonly replace: boolean }) => Promise<string>;
  readonly remove: (skill: Skill) => Promise<void>;
}

export function openSkillShop(config: Config, paths: HomePaths, env: Environment): SkillShop {
  const catalog = openSkills(config, paths, { env });
  const folder = workspaceSkills(paths);
  const obstacle: SkillShop['obstacle'] = async ({ skill: { name } }, { replace }) => {
    const { skills, disabled } = await catalog.survey();
    return await findObstacle(name, { workspaceSkills: folder, known: [...skills, ...disabled], replace });
  };
  return {
    catalog,
    folder,
    plan: planInstall,
    obstacle,
    add: (plan, { replace }) => installSkill(plan, { workspaceSkills: folder, replace }),
    remove: (skill) => removeSkill(skill, folder),
  };
}

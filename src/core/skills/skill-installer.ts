import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Environment } from '../config/environment.ts';
import type { HomePaths } from '../config/home.ts';
import type { Config } from '../config/schema.ts';
import type { SkillCatalog } from './catalog.ts';
import {
  findObstacle,
  type Replace,
  installSkill,
  planFiles,
  planInstall,
  removeSkill,
  type InstallPlan,
  type PlanFile,
} from './install.ts';
import { addPins, shownKey, shownPin, type SkillPins } from './pins.ts';
import type { Skill } from './skill.ts';
import { openSkills, workspaceSkills } from './open-skills.ts';

export type { InstallPlan } from './install.ts';
export type { Risk } from './risks.ts';
export type { Skill } from './skill.ts';

/** What the command line does with the skills of a home; it touches files only. */
export interface SkillInstaller {
  readonly catalog: SkillCatalog;
  /** Where skills are added. */
  readonly folder: string;
  /** Reads a skill that is somewhere, changing nothing. */
  readonly plan: (path: string) => Promise<InstallPlan>;
  /** Reads a skill from the bytes of a zip archive, in memory. */
  readonly planArchive: (bytes: Uint8Array) => Promise<InstallPlan>;
  /** A skill of files that are in memory. */
  readonly planOf: (files: readonly PlanFile[], name: string) => InstallPlan;
  /** Why a plan cannot be carried out as things are; null: it can. */
  readonly obstacle: (plan: InstallPlan, options: { readonly replace: Replace }) => Promise<string | null>;
  /** Copies what was planned into the workspace; returns the new folder. */
  readonly add: (plan: InstallPlan, options: { readonly replace: boolean }) => Promise<string>;
  /** Uses a skill of another program from now on, as long as its text is the one that was shown. */
  readonly enable: (plan: InstallPlan) => Promise<void>;
  readonly remove: (skill: Skill) => Promise<void>;
}

/** `without`: skills of the program that belong to what is switched off. `catalog`: @default one of its own */
export function openSkillInstaller(
  config: Config,
  paths: HomePaths,
  {
    env,
    without = [],
    catalog = openSkills(config, paths, { env, without }),
  }: { readonly env: Environment; readonly without?: readonly string[]; readonly catalog?: SkillCatalog },
): SkillInstaller {
  const folder = workspaceSkills(paths);
  const pin = (shown: SkillPins): Promise<void> =>
    addPins(paths.skillPins, shown, (key) => isAbsolute(key) && !existsSync(key));
  const obstacle: SkillInstaller['obstacle'] = async ({ skill: { name } }, { replace }) => {
    const { skills, disabled } = await catalog.survey();
    return await findObstacle(name, { workspaceSkills: folder, known: [...skills, ...disabled], replace });
  };
  return {
    catalog,
    folder,
    plan: planInstall,
    planArchive: async (bytes) => {
      const { unzipSkill } = await import('./zip.ts');
      const { files, folderName } = unzipSkill(bytes);
      return planFiles(files, { folder: 'The archive', folderName });
    },
    planOf: (files, name) => planFiles(files, { folder: name, folderName: name }),
    obstacle,
    add: async (plan, { replace }) => {
      const added = await installSkill(plan, { workspaceSkills: folder, replace });
      await pin(new Map([[shownKey(plan.skill.name), shownPin(plan.skill)]]));
      return added;
    },
    enable: async (plan) => {
      await pin(new Map([[plan.folder, plan.pin]]));
    },
    remove: (skill) => removeSkill(skill, folder),
  };
}

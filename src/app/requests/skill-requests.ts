import { createHash } from 'node:crypto';
import { draftChange, writeConfig } from '../../core/config/change.ts';
import type { App } from '../../core/app.ts';
import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import type { SkillFacts, SkillOffer } from '../../core/gateway/operations/skills.ts';
import type { InstallPlan } from '../../core/skills/install.ts';
import type { Skill } from '../../core/skills/skill.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import { oneLine } from '../../core/util/text.ts';
import type { SkillInstaller } from '../../core/skills/skill-installer.ts';

export interface SkillRequests extends Pick<RequestHandlers, 'skillsList' | 'skillsInstall' | 'skillsRemove'> {
  readonly skillsSet: (change: { readonly name: string; readonly enabled: boolean }) => Promise<null>;
}

/** What a person may ask about skills. */
export function skillRequests(app: App): SkillRequests {
  const catalog = app.skills;
  // What reads skills with all their forms is loaded with the first call.
  const opened = async (): Promise<SkillInstaller> => {
    const { openSkillInstaller } = await import('../../core/skills/skill-installer.ts');
    return openSkillInstaller(app.config, app.paths, { env: app.env, catalog });
  };
  const find = async (name: string): Promise<Skill> => {
    const { skills, disabled, found } = await catalog.survey();
    const skill = [...skills, ...disabled, ...found].find((candidate) => candidate.name === name.toLowerCase());
    if (skill !== undefined) return skill;
    throw new AppError('unknown-skill', `There is no skill ${JSON.stringify(oneLine(name, 60))}.`);
  };
  const takeUp = async (): Promise<void> => {
    const { refused } = await app.reload();
    if (refused !== null) throw new AppError('config-invalid', refused);
  };
  // One after the other: each writes the whole list.
  let last: Promise<unknown> = Promise.resolve();
  return {
    skillsList: async () => {
      const { skills, disabled, found } = await catalog.survey();
      const all = [
        ...skills.map((skill) => factsOf(skill, { enabled: true, found: false })),
        ...disabled.map((skill) => factsOf(skill, { enabled: false, found: false })),
        ...found.map((skill) => factsOf(skill, { enabled: false, found: true })),
      ];
      return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    skillsSet: async ({ name, enabled }) => {
      const skill = await find(name);
      const { found } = await catalog.survey();
      if (enabled && found.some(({ folder }) => folder === skill.folder)) throw notAgreed(skill.name);
      const set = last.then(async () => {
        // The list of the file, not an older one, is what the name is added to.
        await takeUp();
        await setEnabled(app, skill.name, enabled);
        await takeUp();
      });
      last = set.catch(() => undefined);
      await set;
      return null;
    },
    skillsInstall: async ({ upload, confirm, replace = false }) => {
      const bytes = await app.http.upload?.(upload);
      if (bytes === undefined) throw new AppError('upload-unknown', 'The file is not kept any more. Upload it again.');
      const installer = await opened();
      const plan = await installer.planArchive(bytes);
      const there = await installedPlan(installer, plan.skill.name);
      const offer = offerOf(plan, there);
      if (confirm === undefined) return offer;
      if (confirm !== offer.hash) throw changed(plan.skill.name);
      if (there !== null && !replace) throw exists(plan.skill.name);
      const obstacle = await installer.obstacle(plan, { replace });
      if (obstacle !== null) throw new AppError('skill-exists', obstacle);
      await installer.add(plan, { replace });
      return { ...offer, installed: true };
    },
    skillsRemove: async ({ name }) => {
      const skill = await find(name);
      await (await opened()).remove(skill);
      return null;
    },
  };
}

/** Writes into config.json that a skill is used or not. */
async function setEnabled({ program, paths, env, config }: App, name: string, enabled: boolean): Promise<void> {
  const { disabled, entries } = config.skills;
  const others = disabled.filter((other) => other !== name);
  const change = async (path: readonly string[], value: unknown): Promise<void> => {
    const draft = await draftChange({ program, paths, env }, { path, value });
    if (draft.text !== draft.before) await writeConfig(paths, draft);
  };
  await change(['skills', 'disabled'], enabled ? others : [...others, name]);
  if (enabled && Object.hasOwn(entries, name) && entries[name]?.enabled === false)
    await change(['skills', 'entries', name, 'enabled'], true);
}

/** What is installed in the workspace under this name; null: nothing. */
async function installedPlan(installer: SkillInstaller, name: string): Promise<InstallPlan | null> {
  const { skills, disabled } = await installer.catalog.survey();
  const own = [...skills, ...disabled].find((skill) => skill.name === name && skill.source === 'workspace');
  return own === undefined ? null : await installer.plan(own.folder);
}

function offerOf({ skill, files, risks, ...plan }: InstallPlan, there: InstallPlan | null): SkillOffer {
  return {
    name: skill.name,
    description: skill.description,
    files: files.map(({ path, size, executable }) => ({ path, size, executable })),
    risks: risks.map(({ kind, file, line, excerpt }) => ({
      title: kind,
      where: line === 0 ? file : `${file}:${line}`,
      line: excerpt,
    })),
    warnings: skill.warnings,
    replaces: there !== null,
    hash: hashOf([{ skill, files, risks, ...plan }, there]),
    installed: false,
  };
}

function hashOf(plans: readonly (InstallPlan | null)[]): string {
  const facts = plans.map((plan) => plan?.files.map(({ path, sha256, executable }) => [path, sha256, executable]));
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

function factsOf(skill: Skill, state: { readonly enabled: boolean; readonly found: boolean }): SkillFacts {
  const { name, description, source, warnings, folder } = skill;
  const missing = skill.missing.map((what) => ({ what, how: howToGet(what, skill) }));
  return { name, description, source, ...state, missing, warnings, folder };
}

/** The line of the skill that names the program, or where a variable or setting is set. */
function howToGet(what: string, { name, install }: Skill): string | null {
  const [kind = '', ...rest] = what.split(' ');
  const names = rest.filter((word) => word !== 'or');
  switch (kind) {
    case 'program':
      return install.find((line) => names.some((program) => line.includes(program))) ?? null;
    case 'variable':
      return assistantCommand(`config set skills.entries.${name}.env.${names.join(' ')} VALUE`);
    case 'setting':
      return assistantCommand(`config set ${names.join(' ')} VALUE`);
    default:
      return null;
  }
}

function notAgreed(name: string): AppError {
  const command = assistantCommand(`skills enable ${name}`);
  return new AppError(
    'skill-not-agreed',
    `Another program brought the skill ${name}. To read it and agree to its text, run: ${command}`,
  );
}

function exists(name: string): AppError {
  return new AppError(
    'skill-exists',
    `The workspace has a skill ${name} already. Confirm that this one may take its place.`,
  );
}

function changed(name: string): AppError {
  return new AppError(
    'skill-changed',
    `What would be added as ${name}, or what it would replace, is not what was shown. Look at it again.`,
  );
}

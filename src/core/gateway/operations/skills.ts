import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { App } from '../../app.ts';
import { draftChange, writeConfig } from '../../config/change.ts';
import type { InstallPlan } from '../../skills/install.ts';
import type { Skill } from '../../skills/skill.ts';
import type { SkillInstaller } from '../../skills/skill-installer.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError } from '../../util/errors.ts';
import { oneLine } from '../../util/text.ts';
import { listOf, operation } from './operation.ts';

/** A skill, and whether it can be used. */
const skillFacts = z.object({
  name: z.string(),
  description: z.string(),
  /** `workspace`: added to this home; `user`: of another program; `package`: came along. */
  source: z.enum(['workspace', 'user', 'package']),
  enabled: z.boolean(),
  /** Another program brought it, and no one agreed to its present text. */
  found: z.boolean(),
  /** What it needs and is not there. */
  missing: listOf(
    z.object({
      what: z.string(),
      /** How to get it; null: nobody knows. */
      how: z.string().nullable(),
    }),
  ),
  /** Its mistakes, one sentence each. */
  warnings: listOf(z.string()),
  folder: z.string(),
});
export type SkillFacts = Readonly<z.output<typeof skillFacts>>;

/** A skill in an archive, as a person should see it before they agree. */
const skillOffer = z.object({
  name: z.string(),
  description: z.string(),
  files: listOf(
    z.object({
      path: z.string(),
      /** Bytes. */
      size: z.number(),
      executable: z.boolean(),
    }),
  ),
  /** What one should look at. An empty list proves nothing. */
  risks: listOf(
    z.object({
      title: z.string(),
      /** `file:line`. */
      where: z.string(),
      line: z.string(),
    }),
  ),
  warnings: listOf(z.string()),
  /** A skill of this name is there, and this one would take its place. */
  replaces: z.boolean(),
  /** Stands for what was shown here, and for what would be replaced. */
  hash: z.string(),
  installed: z.boolean(),
});
export type SkillOffer = Readonly<z.output<typeof skillOffer>>;

const name = z.string().min(1).max(100).describe('Name of the skill.');

export const skillsList = operation({
  name: 'skillsList',
  about: 'Lists the skills: those that can be used, what others need, and those that are switched off.',
  changes: null,
  input: z.object({}),
  output: listOf(skillFacts),
  run: async (app) => {
    const { skills, disabled, found } = await app.skills.survey();
    const all = [
      ...skills.map((skill) => factsOf(skill, { enabled: true, found: false })),
      ...disabled.map((skill) => factsOf(skill, { enabled: false, found: false })),
      ...found.map((skill) => factsOf(skill, { enabled: false, found: true })),
    ];
    return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  },
});

export const skillsSet = operation({
  name: 'skillsSet',
  about:
    'Switches a skill on or off in the configuration, in force at once; `unknown-skill` if there is none of this name, `skill-not-agreed` for one that another program brought and no one agreed to.',
  changes: 'skills',
  input: z.object({ name, enabled: z.boolean().describe('Whether it is used.') }),
  output: z.null(),
  audit: ({ name: which, enabled }) => `skills ${enabled ? 'enable' : 'disable'} ${which}`,
  run: async (app, { name: which, enabled }) => {
    await switchSkill(app, which, enabled);
    return null;
  },
});

export const skillsInstall = operation({
  name: 'skillsInstall',
  about:
    'Reads a skill from an uploaded zip archive and returns what one should see before agreeing; called again with the `hash` of that, it adds the skill to the workspace. `skill-refused` for an archive that is not taken, `skill-exists` if it would replace a skill and `replace` is not true, `skill-changed` if the hash is not that of what would happen now.',
  changes: 'skills',
  input: z.object({
    upload: z.string().max(100).describe('Id of the uploaded zip archive.'),
    confirm: z.string().max(64).exactOptional().describe('`hash` of what was shown; without it nothing is added.'),
    replace: z.boolean().exactOptional().describe('Whether it may take the place of a skill of the same name.'),
  }),
  output: skillOffer,
  audit: ({ upload, confirm }) => (confirm === undefined ? null : `skills install ${upload}, ${confirm}`),
  run: async (app, { upload, confirm, replace = false }) => {
    const bytes = await app.http.upload?.(upload);
    if (bytes === undefined) throw new AppError('upload-unknown', 'The file is not kept any more. Upload it again.');
    const installer = await openInstaller(app);
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
});

export const skillsRemove = operation({
  name: 'skillsRemove',
  about:
    'Removes a skill of the workspace; `unknown-skill` if there is none of this name, `skill-not-removable` for one that lies elsewhere.',
  changes: 'skills',
  input: z.object({ name }),
  output: z.null(),
  run: async (app, { name: which }) => {
    const skill = await find(app, which);
    await (await openInstaller(app)).remove(skill);
    return null;
  },
});

/** One after the other: each writes the whole list. */
const switching = (): { last: Promise<unknown> } => ({ last: Promise.resolve() });

/** Switches a skill on or off in the configuration, in force at once. */
export async function switchSkill(app: App, which: string, enabled: boolean): Promise<void> {
  const skill = await find(app, which);
  const { found } = await app.skills.survey();
  if (enabled && found.some(({ folder }) => folder === skill.folder)) throw notAgreed(skill.name);
  const before = app.once(switching);
  const set = before.last.then(async () => {
    // The list of the file, not an older one, is what the name is added to.
    await takeUp(app);
    await setEnabled(app, skill.name, enabled);
    await takeUp(app);
  });
  before.last = set.catch(() => undefined);
  await set;
}

async function takeUp(app: App): Promise<void> {
  const { refused } = await app.reload();
  if (refused !== null) throw new AppError('config-invalid', refused);
}

/** What reads skills with all their forms is loaded with the first call. */
async function openInstaller(app: App): Promise<SkillInstaller> {
  const { openSkillInstaller } = await import('../../skills/skill-installer.ts');
  return openSkillInstaller(app.config, app.paths, { env: app.env, catalog: app.skills });
}

async function find(app: App, which: string): Promise<Skill> {
  const { skills, disabled, found } = await app.skills.survey();
  const skill = [...skills, ...disabled, ...found].find((candidate) => candidate.name === which.toLowerCase());
  if (skill !== undefined) return skill;
  throw new AppError('unknown-skill', `There is no skill ${JSON.stringify(oneLine(which, 60))}.`);
}

/** Writes into config.json that a skill is used or not. */
async function setEnabled({ program, paths, env, config }: App, which: string, enabled: boolean): Promise<void> {
  const { disabled, entries } = config.skills;
  const others = disabled.filter((other) => other !== which);
  const change = async (path: readonly string[], value: unknown): Promise<void> => {
    const draft = await draftChange({ program, paths, env }, { path, value });
    if (draft.text !== draft.before) await writeConfig(paths, draft);
  };
  await change(['skills', 'disabled'], enabled ? others : [...others, which]);
  if (enabled && Object.hasOwn(entries, which) && entries[which]?.enabled === false)
    await change(['skills', 'entries', which, 'enabled'], true);
}

/** What is installed in the workspace under this name; null: nothing. */
async function installedPlan(installer: SkillInstaller, which: string): Promise<InstallPlan | null> {
  const { skills, disabled } = await installer.catalog.survey();
  const own = [...skills, ...disabled].find((skill) => skill.name === which && skill.source === 'workspace');
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
  const { name: which, description, source, warnings, folder } = skill;
  const missing = skill.missing.map((what) => ({ what, how: howToGet(what, skill) }));
  return { name: which, description, source, ...state, missing, warnings, folder };
}

/** The line of the skill that names the program, or where a variable or setting is set. */
function howToGet(what: string, { name: which, install }: Skill): string | null {
  const [kind = '', ...rest] = what.split(' ');
  const names = rest.filter((word) => word !== 'or');
  switch (kind) {
    case 'program':
      return install.find((line) => names.some((program) => line.includes(program))) ?? null;
    case 'variable':
      return assistantCommand(`config set skills.entries.${which}.env.${names.join(' ')} VALUE`);
    case 'setting':
      return assistantCommand(`config set ${names.join(' ')} VALUE`);
    default:
      return null;
  }
}

function notAgreed(which: string): AppError {
  const command = assistantCommand(`skills enable ${which}`);
  return new AppError(
    'skill-not-agreed',
    `Another program brought the skill ${which}. To read it and agree to its text, run: ${command}`,
  );
}

function exists(which: string): AppError {
  return new AppError(
    'skill-exists',
    `The workspace has a skill ${which} already. Confirm that this one may take its place.`,
  );
}

function changed(which: string): AppError {
  return new AppError(
    'skill-changed',
    `What would be added as ${which}, or what it would replace, is not what was shown. Look at it again.`,
  );
}

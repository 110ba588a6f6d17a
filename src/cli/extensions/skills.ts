import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { InstallPlan, Risk, Skill, SkillInstaller } from '../../core/skills/skill-installer.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import { plural } from '../../core/util/text.ts';
import { confirm } from '../../core/cli/confirm.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { findSkill, openInstaller, tellRunning } from './find-skill.ts';
import { aboutPlan, aboutSkill, findingLines, listLines } from './skills-text.ts';
import { terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import type { HomeFlag, OutputFlags } from '../../core/cli/command.ts';

const MOST_FILES = 500;

/** `assistant skills [list]`. */
export async function skillsListCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  const installer = await openInstaller(home, context);
  const { skills, disabled, found, warnings } = await installer.catalog.survey();
  const all = [
    ...skills.map((skill) => facts(skill, { enabled: true })),
    ...disabled.map((skill) => facts(skill, { enabled: false })),
    ...found.map((skill) => ({ ...facts(skill, { enabled: true }), found: true })),
  ];
  all.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const warning of warnings) context.stderr.write(`⚠ ${terminalText(warning)}\n`);
  print(context, json, { facts: all, lines: listLines(all), escape: terminalText });
  return 0;
}

/** `assistant skills show NAME`. */
export async function skillsShowCommand(
  { name, home, json }: OutputFlags & { readonly name: string },
  context: CliContext,
): Promise<number> {
  const installer = await openInstaller(home, context);
  const skill = await findSkill(installer, name);
  const { paths } = await installer.catalog.files(skill, MOST_FILES);
  const shown = { ...skill, body: undefined, files: paths, text: skill.body };
  print(context, json, { facts: shown, lines: aboutSkill(skill, paths), escape: terminalText });
  return 0;
}

interface Finding {
  readonly name: string;
  readonly folder: string;
  readonly missing: readonly string[];
  /** One sentence each. */
  readonly warnings: readonly string[];
  readonly risks: readonly Risk[];
}

/** `assistant skills check [NAME|PATH]`: exit code 1 when there is something to look at. */
export async function skillsCheckCommand(
  { skill: which, home, json }: OutputFlags & { readonly skill: string | undefined },
  context: CliContext,
): Promise<number> {
  const installer = await openInstaller(home, context);
  const { skills, disabled, found, warnings } = await installer.catalog.survey();
  const known = [...skills, ...disabled, ...found];
  const findings: Finding[] = [];
  const isPath = which !== undefined && !known.some(({ name }) => name === which) && existsSync(resolve(which));
  if (isPath) {
    const { skill, folder, risks } = await installer.plan(resolve(which));
    findings.push({ name: skill.name, folder, missing: [], warnings: skill.warnings, risks });
  } else {
    const wanted = which === undefined ? known : [await findSkill(installer, which)];
    for (const skill of wanted) findings.push(await examine(installer, skill));
  }
  const general = which === undefined ? warnings : [];
  const lines = findingLines(findings, general);
  print(context, json, { facts: { warnings: general, skills: findings }, lines, escape: terminalText });
  return general.length > 0 || findings.some((found) => found.warnings.length + found.risks.length > 0) ? 1 : 0;
}

async function examine(installer: SkillInstaller, { name, folder, missing, warnings }: Skill): Promise<Finding> {
  try {
    const { risks } = await installer.plan(folder);
    return { name, folder, missing, warnings, risks };
  } catch (error) {
    return { name, folder, missing, warnings: [...warnings, errorMessage(error)], risks: [] };
  }
}

/** `assistant skills add PATH`: shows what it is, asks, copies. */
export async function skillsAddCommand(
  { path, yes, replace, home }: HomeFlag & { readonly path: string; readonly yes: boolean; readonly replace: boolean },
  context: CliContext,
): Promise<number> {
  const installer = await openInstaller(home, context);
  const plan: InstallPlan = await installer.plan(resolve(path));
  context.stdout.write(`${terminalText(aboutPlan(plan).join('\n'))}\n`);
  const obstacle = await installer.obstacle(plan, { replace });
  if (obstacle !== null) throw new AppError('skill-exists', obstacle);
  const { name } = plan.skill;
  const question = `${replace ? 'Put it in the place of' : 'Add it as'} ${name} in ${installer.folder}?`;
  if (!(await confirm(context, question, { yes }))) {
    context.stdout.write('Nothing was added.\n');
    return 1;
  }
  const target = await installer.add(plan, { replace });
  await tellRunning(context, home);
  context.stdout.write(`Added ${name} in ${terminalText(target)}. It can be used from the next message on.\n`);
  const { disabled, skills } = await installer.catalog.survey();
  if (disabled.some((skill) => skill.name === name)) {
    context.stdout.write(`The settings leave it out: see skills.disabled and skills.entries.${name}.\n`);
  }
  const missing = skills.find((skill) => skill.name === name)?.missing ?? [];
  if (missing.length > 0) context.stdout.write(`It still needs ${terminalText(missing.join(', '))}.\n`);
  return 0;
}

/** `assistant skills enable NAME` or `--all`: shows what another program brought, asks, and uses it from then on. */
export async function skillsEnableCommand(
  {
    name,
    all,
    yes,
    home,
  }: HomeFlag & { readonly name: string | undefined; readonly all: boolean; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  const installer = await openInstaller(home, context);
  const { found } = await installer.catalog.survey();
  if (name === undefined && !all && found.length > 0) {
    const names = found
      .map((skill) => skill.name)
      .toSorted()
      .join(', ');
    const next = `To use one, run: ${assistantCommand('skills enable NAME')} (or --all)`;
    context.stdout.write(`Not enabled: ${terminalText(names)}. ${next}\n`);
    return 1;
  }
  const wanted = all ? found : found.filter((skill) => skill.name === name?.toLowerCase());
  if (wanted.length === 0) {
    context.stdout.write(`${await nothingToEnable(installer, name)}\n`);
    return 0;
  }
  let declined = 0;
  for (const { name: known, folder, changed } of wanted) {
    const plan = await installer.plan(folder);
    const since = changed ? '\nIts text changed since you agreed to it.' : '';
    context.stdout.write(`${terminalText(aboutPlan(plan).join('\n'))}${since}\n`);
    if (await confirm(context, `Use ${known} in ${folder} as it is now?`, { yes })) {
      await installer.enable(plan);
      await tellRunning(context, home);
      context.stdout.write(`Enabled ${known}. It can be used from the next message on.\n`);
    } else {
      declined += 1;
      context.stdout.write(`${known} was not enabled.\n`);
    }
  }
  return declined === 0 ? 0 : 1;
}

async function nothingToEnable(installer: SkillInstaller, name: string | undefined): Promise<string> {
  if (name === undefined) return 'No skill of another program is waiting to be enabled.';
  const { skills, disabled } = await installer.catalog.survey();
  const wanted = await findSkill(installer, name);
  if (skills.some((skill) => skill.name === wanted.name)) return `${wanted.name} is enabled already.`;
  const isOff = disabled.some((skill) => skill.name === wanted.name);
  return `${wanted.name} is ${isOff ? 'left out by the settings: see skills.disabled and skills.entries' : 'not enabled'}.`;
}

/** `assistant skills remove NAME`. */
export async function skillsRemoveCommand(
  { name, yes, home }: HomeFlag & { readonly name: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  const installer = await openInstaller(home, context);
  const skill = await findSkill(installer, name);
  if (skill.source === 'workspace') {
    const { paths } = await installer.catalog.files(skill, MOST_FILES);
    const question = `Remove ${skill.folder} with its ${plural(paths.length + 1, 'file')}?`;
    if (!(await confirm(context, question, { yes }))) {
      context.stdout.write('Nothing was removed.\n');
      return 1;
    }
  }
  await installer.remove(skill);
  await tellRunning(context, home);
  context.stdout.write(`Removed ${skill.name}.\n`);
  return 0;
}

function facts(skill: Skill, { enabled }: { readonly enabled: boolean }) {
  const { name, description, source, missing, always, userInvocable, disableModelInvocation } = skill;
  const { folder, file, warnings } = skill;
  const available = missing.length === 0;
  const flags = { enabled, available, always, userInvocable, disableModelInvocation };
  return { name, description, source, ...flags, missing, folder, file, warnings };
}

import { resolve } from 'node:path';
import {
  readCases,
  recordedTrial,
  skeletonOf,
  testRecorded,
  testSkill,
  trySkill,
  type CaseResult,
  type TrialLimits,
} from '../../app/skill-lab/skill-lab.ts';
import type { Skill } from '../../core/skills/skill-installer.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import { dollars, oneLine, plural } from '../../core/util/text.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import { openProgress } from '../../core/cli/progress.ts';
import type { HomeFlag, OutputFlags } from '../../core/cli/command.ts';
import { usageError } from '../../core/cli/usage.ts';
import { findSkill, openInstaller, tellRunning } from './find-skill.ts';
import { caseLines, headLine, sumLine, trialLines } from './skill-lab-text.ts';

/** Model calls of one run. */
const MOST_STEPS = 10;
const MOST_MINUTES = { test: 30, try: 5 };
const MOST_USD = 1;
const LONGEST_NAME = 64;
const INTERRUPTED = 130;

/** `assistant skills new NAME`: a skeleton in the workspace. */
export async function skillsNewCommand(
  { name, description, home }: HomeFlag & { readonly name: string; readonly description: string },
  context: CliContext,
): Promise<number> {
  if (!/^[a-z0-9][a-z0-9-]*$/u.test(name) || name.length > LONGEST_NAME) {
    throw usageError(
      `The name of a skill must be lower case letters, digits and hyphens, at most ${LONGEST_NAME}, but ${JSON.stringify(oneLine(name, 80))} was given.`,
    );
  }
  const installer = await openInstaller(home, context);
  const about = oneLine(description, 500);
  const plan = installer.planOf(skeletonOf(name, about), name);
  const obstacle = await installer.obstacle(plan, { replace: 'never' });
  if (obstacle !== null) throw new AppError('skill-exists', obstacle);
  const { skills } = await installer.catalog.survey();
  const hidden = skills.find((skill) => skill.name === name);
  const target = await installer.add(plan, { replace: false });
  await tellRunning(context, home);
  context.stdout.write(`${terminalText(`${target}: SKILL.md and cases.yaml`)}\n`);
  if (hidden !== undefined) {
    context.stdout.write(terminalText(`It takes the place of the skill ${name} in ${hidden.folder}.\n`));
  }
  const commands = [`skills try ${name} "…"`, `skills test ${name}`].map((words) => assistantCommand(words));
  context.stdout.write(`Fill in both, then run: ${commands.join(' and ')}\n`);
  return 0;
}

interface LabFlags extends OutputFlags {
  readonly name: string;
  readonly model: string | undefined;
  /** US dollars. */
  readonly budget: number | undefined;
}

/** `assistant skills test NAME`: exit code 1 when a case did not pass. */
export async function skillsTestCommand(
  { trace, ...flags }: LabFlags & { readonly trace: string | undefined },
  context: CliContext,
): Promise<number> {
  const { name, model, budget, json, home } = flags;
  if (trace !== undefined && (model ?? budget) !== undefined) {
    throw usageError('--trace asks no model, so it cannot be given together with --model or --budget.');
  }
  const { config, paths, ...installer } = await openInstaller(home, context);
  const skill = await findSkill(installer, name);
  const cases = await readCases(skill.folder);
  if (trace !== undefined) {
    const result = testRecorded(cases, await recordedTrial(resolve(trace), skill));
    const lines = [headLine([result]), ...caseLines(result, [result]), sumLine([result])];
    print(context, json, { facts: { skill: skill.name, trace, cases: [result] }, lines, escape: terminalText });
    return result.passed ? 0 : 1;
  }
  const limits = limitsOf(flags, MOST_MINUTES.test);
  warnOfMissing(skill, context);
  const runs = `${plural(cases.length, 'case')}, each with and without the skill`;
  context.stderr.write(`${runs}: ${boundText(limits, cases.length * 2)}\n`);
  const say = (lines: readonly string[]): void => {
    if (!json) context.stdout.write(`${terminalText(lines.join('\n'))}\n`);
  };
  const results: CaseResult[] = [];
  using stop = stopper(context);
  using progress = openProgress(context);
  say([headLine(cases)]);
  const next = (): void => progress.show(`${cases[results.length]?.name ?? ''} …`);
  next();
  const ports = await portsOf(context, stop.signal);
  try {
    for await (const result of testSkill(cases, { skill, config, model, real: paths, limits }, ports)) {
      progress.hide();
      results.push(result);
      say(caseLines(result, cases));
      next();
    }
  } catch (error) {
    if (stop.signal.aborted) return INTERRUPTED;
    throw error;
  }
  if (json) print(context, json, { facts: { skill: skill.name, limits, cases: results }, lines: [] });
  say([sumLine(results)]);
  return results.every(({ passed }) => passed) ? 0 : 1;
}

/** `assistant skills try NAME "…"`: exit code 1 when there was no answer. */
export async function skillsTryCommand(
  { message, ...flags }: LabFlags & { readonly message: string },
  context: CliContext,
): Promise<number> {
  const { name, model, json, home } = flags;
  if (message.trim() === '') throw usageError('The message is empty. Say what the skill is to do.');
  const { config, paths, ...installer } = await openInstaller(home, context);
  const skill = await findSkill(installer, name);
  const limits = limitsOf(flags, MOST_MINUTES.try);
  warnOfMissing(skill, context);
  context.stderr.write(`A trial on a copy of the workspace: ${boundText(limits, 1)}\n`);
  using stop = stopper(context);
  using progress = openProgress(context);
  progress.show(`${skill.name} …`);
  const ports = await portsOf(context, stop.signal);
  const lab = { skill, config, model, real: paths, limits };
  try {
    const trial = await trySkill(message, lab, ports);
    progress.hide();
    print(context, json, { facts: trial, lines: trialLines(trial), escape: terminalText });
    return trial.failed ? 1 : 0;
  } catch (error) {
    if (stop.signal.aborted) return INTERRUPTED;
    throw error;
  }
}

function warnOfMissing({ name, missing }: Skill, { stderr }: CliContext): void {
  if (missing.length > 0) stderr.write(`⚠ ${terminalText(`${name} needs ${missing.join(', ')}`)}\n`);
}

function limitsOf({ budget }: LabFlags, minutes: number): TrialLimits {
  return { steps: MOST_STEPS, usd: budget ?? MOST_USD, minutes };
}

/** What is spent at most, before anything is. */
function boundText({ steps, usd, minutes }: TrialLimits, runs: number): string {
  const calls = `at most ${plural(runs * steps, 'model call')}`;
  return `${calls}, about ${dollars(usd)} and ${plural(minutes, 'minute')}. Nothing but the model is asked or changed.`;
}

/** Aborts at Ctrl-C. */
function stopper(context: CliContext): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const listening = context.onSignal(() => controller.abort());
  return { signal: controller.signal, [Symbol.dispose]: () => listening[Symbol.dispose]() };
}

async function portsOf({ program, app, env, clock }: CliContext, signal: AbortSignal) {
  const { createAssistant } = await app();
  return { program, env, clock, signal, start: createAssistant };
}

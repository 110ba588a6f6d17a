import type { SkillCase } from '../../core/skills/cases.ts';
import { AppError } from '../../core/util/errors.ts';
import { oneLine } from '../../core/util/text.ts';
import { misses } from './judge.ts';
import type { RecordedTrial } from './recorded.ts';
import { runTrial, type Trial, type TrialLimits, type TrialPlan, type TrialOptions } from './trial.ts';

export { readCases, type SkillCase } from '../../core/skills/cases.ts';
export { skeletonOf } from '../../core/skills/skeleton.ts';
export { callText } from './judge.ts';
export { recordedTrial } from './recorded.ts';
export type { Trial, TrialLimits } from './trial.ts';

/** One run of a case. `not-run`: the money or the time was used up before. */
export type CaseRun =
  | { readonly state: 'passed' | 'failed'; readonly misses: readonly string[]; readonly trial: Trial }
  | { readonly state: 'not-run'; readonly reason: string };

/** A case with the skill, and without it for comparison; null: there is no such run. It passes by the first alone. */
export interface CaseResult {
  readonly name: string;
  readonly passed: boolean;
  readonly with: CaseRun;
  readonly without: CaseRun | null;
}

type Lab = Pick<TrialPlan, 'skill' | 'config' | 'model' | 'real'>;

/** Runs each case with the skill and without it, one after the other, in homes that no one keeps. */
export async function* testSkill(
  cases: readonly SkillCase[],
  { limits, ...lab }: Lab & { readonly limits: TrialLimits },
  options: TrialOptions,
): AsyncGenerator<CaseResult> {
  const endsAt = options.clock.monotonic() + limits.minutes * 60_000;
  let usd = limits.usd;
  // All of them are looked up before the first run: a wrong name costs nothing.
  const named = cases.flatMap(({ name, tools, calls, never }) =>
    [...tools, ...calls, ...never].map(({ tool }) => ({ tool, by: name })),
  );
  const run = async (one: SkillCase, withSkill: boolean): Promise<CaseRun> => {
    const minutes = (endsAt - options.clock.monotonic()) / 60_000;
    if (usd <= 0) return { state: 'not-run', reason: 'the money for this test is used up' };
    if (minutes <= 0) return { state: 'not-run', reason: 'the time for this test is over' };
    const trial = await runTrial(
      {
        ...lab,
        withSkill,
        prompt: withSkill ? one.prompt : withoutName(one.prompt, lab.skill.name),
        files: one.files,
        answers: one.tools,
        named,
        workspace: 'new',
        limits: { ...limits, usd, minutes: Math.ceil(minutes) },
      },
      options,
    );
    usd -= trial.costUsd ?? 0;
    return judged(one, trial, withSkill);
  };
  for (const one of cases) {
    const first = await run(one, true);
    yield { name: one.name, passed: first.state === 'passed', with: first, without: await run(one, false) };
  }
}

/** Judges the case that asks what a saved turn was asked. Throws `no-case-of-trace` when there is none. */
export function testRecorded(cases: readonly SkillCase[], { prompt, trial }: RecordedTrial): CaseResult {
  const one = cases.find((candidate) => sameWords(candidate.prompt) === sameWords(prompt));
  if (one === undefined) {
    throw new AppError(
      'no-case-of-trace',
      `No case has the prompt of the trace, which is ${JSON.stringify(oneLine(prompt, 200))}. Give one of them this prompt.`,
    );
  }
  const run = judged(one, trial, true);
  return { name: one.name, passed: run.state === 'passed', with: run, without: null };
}

/** One prompt that calls the skill, on a copy of the workspace. */
export function trySkill(
  prompt: string,
  lab: Lab & { readonly limits: TrialLimits },
  options: TrialOptions,
): Promise<Trial> {
  const { name, userInvocable } = lab.skill;
  const called = userInvocable ? `/${name} ${prompt}` : `Use the skill ${name}. ${prompt}`;
  const nothing = { files: {}, answers: [], named: [] };
  return runTrial({ ...lab, ...nothing, withSkill: true, prompt: called, workspace: 'copy' }, options);
}

function judged(one: SkillCase, trial: Trial, withSkill: boolean): CaseRun {
  const found = misses(one, trial, { withSkill });
  return { state: found.length === 0 ? 'passed' : 'failed', misses: found, trial };
}

/** The prompt as one who does not know of the skill writes it. */
function withoutName(prompt: string, name: string): string {
  return prompt
    .replace(new RegExp(`^\\s*/${name}\\s+`, 'u'), '')
    .replaceAll(new RegExp(`\\$${name}(?![\\w-])`, 'gu'), name);
}

function sameWords(text: string): string {
  return text.trim().replaceAll(/\s+/gu, ' ');
}

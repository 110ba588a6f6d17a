import type { CallPattern, SkillCase } from '../../core/skills/cases.ts';
import { countText, dollars, oneLine } from '../../core/util/text.ts';
import { fits } from './matching.ts';
import type { Trial } from './trial.ts';
import type { TrialCall } from './watch.ts';

/** Characters of arguments and texts that a sentence repeats. */
const LONGEST = 100;

/**
 * What of a case a trial does not meet, one phrase each; empty: it passed. Without the skill nothing is said of whether it
 * was used.
 */
export function misses(
  expected: SkillCase,
  trial: Trial,
  { withSkill }: { readonly withSkill: boolean },
): readonly string[] {
  if (trial.failed) return [`no answer: ${oneLine(trial.answer, 200)}`];
  const { activates, contains } = expected;
  const answer = trial.answer.toLowerCase();
  return [
    ...(!withSkill || activates === undefined || activates === trial.activated
      ? []
      : [activates ? 'the skill was not used' : 'the skill was used']),
    ...missingCalls(expected, trial.calls),
    ...expected.never.flatMap((pattern) =>
      trial.calls.filter((call) => fits(pattern, call)).map((call) => `called ${callText(call)}`),
    ),
    ...contains
      .filter((part) => !answer.includes(part.toLowerCase()))
      .map((part) => `the answer does not contain ${JSON.stringify(oneLine(part, LONGEST))}`),
    ...tooMuch(expected, trial),
  ];
}

/** The calls that have to happen and did not, in order. A call that failed counts only where the case itself makes it fail. */
function missingCalls({ calls: expected, tools }: SkillCase, calls: readonly TrialCall[]): readonly string[] {
  const happened = calls.filter((call) => !call.isError || tools.find((answer) => fits(answer, call))?.fails === true);
  let from = 0;
  const missing: string[] = [];
  for (const pattern of expected) {
    const at = happened.findIndex((call, index) => index >= from && fits(pattern, call));
    if (at >= 0) {
      from = at + 1;
      continue;
    }
    const isEarlier = happened.slice(0, from).some((call) => fits(pattern, call));
    const others = calls.filter(({ tool }) => tool === pattern.tool).map(callText);
    const instead = isEarlier ? ' after the calls before it' : others.length === 0 ? '' : `, only ${others.join('; ')}`;
    missing.push(`did not call ${callText(pattern)}${instead}`);
  }
  return missing;
}

function tooMuch({ maxTokens, maxUsd }: SkillCase, { usage, costUsd, model }: Trial): readonly string[] {
  const tokens = usage.input + usage.output;
  return [
    ...(maxTokens !== undefined && tokens > maxTokens
      ? [`took ${countText(tokens)} tokens, more than ${countText(maxTokens)}`]
      : []),
    ...(maxUsd !== undefined && costUsd === null
      ? [`maxUsd cannot be checked: the price of ${model ?? 'the model'} is not known`]
      : []),
    ...(maxUsd !== undefined && costUsd !== null && costUsd > maxUsd
      ? [`cost ${dollars(costUsd)}, more than ${dollars(maxUsd)}`]
      : []),
  ];
}

/** A call as one line: `exec {"command":"date"}`. */
export function callText({ tool, arguments: given }: CallPattern | TrialCall): string {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  return text === '{}' ? tool : `${tool} ${oneLine(text, LONGEST)}`;
}

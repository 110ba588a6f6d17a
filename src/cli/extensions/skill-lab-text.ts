import { callText, type CaseResult, type CaseRun, type Trial } from '../../app/skill-lab/skill-lab.ts';
import { costText, countText, indented, oneLine, plural } from '../../core/util/text.ts';

interface Named {
  readonly name: string;
}

const LONGEST_NAME = 40;
/** Columns of one run in the table. */
const RUN_WIDTH = 34;
/** Characters of what a call gave. */
const LONGEST_OUTPUT = 200;

/** The line above the rows of these cases. */
export function headLine(all: readonly Named[]): string {
  return `${' '.repeat(widthOf(all) + 2)}  ${'with the skill'.padEnd(RUN_WIDTH)}without it`.trimEnd();
}

/** A row of the table, and below it what was missed in each run. */
export function caseLines(
  { name, passed, with: first, without }: CaseResult,
  all: readonly Named[],
): readonly string[] {
  const title = oneLine(name, LONGEST_NAME).padEnd(widthOf(all));
  const other = without === null ? '–' : runText(without);
  return [
    `${passed ? '✓' : '✗'} ${title}  ${runText(first).padEnd(RUN_WIDTH)}${other}`,
    ...missLines('with', first),
    ...(without === null ? [] : missLines('without', without)),
  ];
}

/** How many passed, and what both kinds of runs took together. */
export function sumLine(results: readonly CaseResult[]): string {
  const passed = results.filter((result) => result.passed).length;
  const runs = results.map((result) => result.with);
  const others = results.flatMap(({ without }) => (without === null ? [] : [without]));
  const both = others.length === 0 ? '' : ` Without it: ${tookText(trialsOf(others))}.`;
  return `${passed} of ${plural(results.length, 'case')} passed. With the skill: ${tookText(trialsOf(runs))}.${both}`;
}

/** A trial as a conversation: the calls, what they would have done, the answer, what it took. */
export function trialLines(trial: Trial): readonly string[] {
  return [
    ...trial.calls.flatMap((call) => {
      const mark = call.isError ? '✗' : call.instead === null ? '✓' : '○';
      const came = call.instead === null ? oneLine(call.output, LONGEST_OUTPUT) : `not done: ${call.instead}`;
      return [`${mark} ${callText(call)}`, ...(came === '' ? [] : [`    ${came}`])];
    }),
    ...(trial.calls.length === 0 ? [] : ['']),
    trial.answer,
    '',
    ...(trial.activated ? [] : ['The skill was not used.']),
    ...(trial.leftOut === 0
      ? []
      : [
          `The copy of the workspace is without ${plural(trial.leftOut, 'file')}: there are too many, or they are too large.`,
        ]),
    `${trial.model ?? 'No model'}: ${plural(trial.requests, 'model call')}, ${tookText([trial])}.`,
  ];
}

function missLines(which: string, run: CaseRun): readonly string[] {
  if (run.state === 'not-run') return [`    ${which}: ${run.reason}`];
  return run.misses.map((miss) => indented(`${which}: ${miss}`, '    '));
}

function runText(run: CaseRun): string {
  if (run.state === 'not-run') return '– not run';
  return `${run.state === 'passed' ? '✓' : '✗'} ${tookText([run.trial])}`;
}

function trialsOf(runs: readonly CaseRun[]): readonly Trial[] {
  return runs.flatMap((run) => (run.state === 'not-run' ? [] : [run.trial]));
}

function tookText(trials: readonly Trial[]): string {
  const tokens = trials.reduce((sum, { usage }) => sum + usage.input + usage.output, 0);
  const costUsd = trials.reduce((sum, trial) => sum + (trial.costUsd ?? 0), 0);
  const unpriced = trials.filter((trial) => trial.costUsd === null).length;
  return `${countText(tokens)} tokens, ${costText({ calls: trials.length, costUsd, unpriced })}`;
}

function widthOf(all: readonly Named[]): number {
  return Math.min(LONGEST_NAME, Math.max(0, ...all.map(({ name }) => name.length)));
}

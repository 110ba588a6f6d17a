import type { QuestionLife } from '../../journal/lives.ts';
import type { ToolEntry } from '../../session/entry.ts';
import { turnOf, type TapeTurn } from '../../session/turns.ts';
import { oneLine, sentences } from '../../util/text.ts';
import { receiptOf, unfinished } from '../receipt/receipt.ts';
import { resultOf } from '../subagents/task.ts';
import type { WhyFacts } from './facts.ts';
import { askedFor, LONGEST_REASON, problemText } from './words.ts';

/** How a subagent ended that did not finish its task. */
const ENDED: Readonly<Record<string, string>> = { stopped: 'was stopped' };

/** What the turn did not get done, and why: by a no, a rule, a failure or a subagent. Sentences; none: all was done. */
export function undone({ message, entries, questions, tasks }: WhyFacts): readonly string[] {
  const noes = questions.flatMap(saidNo);
  const result = resultOf(message);
  const turn = turnOf(entries);
  return [
    ...(result === null || result.status === 'completed'
      ? []
      : [subagentEnded(`The subagent “${result.label}”`, ENDED[result.status] ?? result.status, message?.text ?? '')]),
    ...(noes.length > 0 ? noes : [...effects(turn), ...refusals(turn)]),
    ...tasks.flatMap(({ label, outcome, answer }) =>
      outcome === 'failed'
        ? [
            subagentEnded(
              label === '' ? 'A subagent that it started' : `The subagent “${label}” that it started`,
              'failed',
              answer,
            ),
          ]
        : [],
    ),
  ];
}

/** `words`: the last that it said; '' where they must not be seen. */
function subagentEnded(name: string, how: string, words: string): string {
  return words === '' ? `${name} ${how}.` : `${name} ${how}: ${oneLine(words, LONGEST_REASON)}`;
}

function saidNo({ kind, state, title, detail, answeredBy }: QuestionLife): readonly string[] {
  if (kind === 'ask') {
    return state === 'expired' ? [`Nobody answered my question ${askedFor({ title, detail })} in time.`] : [];
  }
  const what = `${askedFor({ title, detail })} was not done`;
  if (state === 'denied') return [`${what}: ${answeredBy ?? 'the owner'} said no.`];
  return state === 'expired' ? [`${what}: nobody answered the question in time.`] : [];
}

/** The line below the answer that names what was not done, with the reasons. */
function effects(turn: TapeTurn): readonly string[] {
  const line = (turn.end?.unfinished ?? '').replaceAll('`', '');
  if (line === '') return [];
  const open = new Set(unfinished(receiptOf(turn)).map(({ callId }) => callId));
  const reasons = turn.results.flatMap(({ entry }) => (open.has(entry.callId) ? problemOf(entry) : []));
  return [sentences(line, ...new Set(reasons))];
}

/** The tools that only look and were refused, with the reasons, but for those that were used later in the turn. */
function refusals({ results }: TapeTurn): readonly string[] {
  const texts = results.flatMap(({ entry }, at) => {
    const isUsed = results.slice(at + 1).some(({ entry: { name, isError } }) => name === entry.name && !isError);
    if (entry.refused !== true || (entry.effects ?? []).length > 0 || isUsed) return [];
    return [sentences(`I was not allowed to use ${entry.name}.`, ...problemOf(entry))];
  });
  return [...new Set(texts)];
}

function problemOf({ problem }: ToolEntry): readonly string[] {
  return problem === undefined ? [] : [problemText(problem, LONGEST_REASON)];
}

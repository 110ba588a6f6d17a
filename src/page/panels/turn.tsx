import type { VNode } from 'preact';
import type { TraceStep, TurnEffect, TurnTrace } from '../../core/gateway/operations/traces.ts';
import { Diff } from '../chat/diff.tsx';
import { operation } from '../net/http.ts';
import { useLoaded } from '../parts/loaded.tsx';
import { Loading, Problem } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { changes } from '../state/app.ts';
import { hashOf } from '../state/place.ts';
import { money, plural, whole } from '../text/figures.ts';
import { shown } from '../text/shown.ts';
import { duration } from '../text/time.ts';

/** What happened in one turn: what it did, with the lines that it changed, then step by step. */
export function TurnStory({ turn }: { readonly turn: string }): VNode {
  const { value, problem, again } = useLoaded(
    () => operation('turnsTrace', { turn }),
    [turn, changes('sessions').value],
  );
  return (
    <div class="column">
      {problem === undefined ? null : <Problem text={problem} again={again} />}
      {value === undefined ? problem === undefined ? <Loading /> : null : <Story trace={value} />}
    </div>
  );
}

/** Why it came out so, from all that is known of its message, and what became of its answer. */
function Cause({ trace: { turn, unfinished } }: { readonly trace: TurnTrace }): VNode {
  const { value } = useLoaded(() => operation('why', { count: 1, about: turn }), [turn, changes('sessions').value]);
  const story = value?.stories[0];
  const isTold = unfinished === null || (story !== undefined && plain(story.cause).includes(plain(unfinished)));
  return (
    <>
      {story === undefined ? null : (
        <>
          <h2>{shown(story.subject)}</h2>
          <p class={unfinished === null ? '' : 'note-bad'}>{plain(story.cause)}</p>
        </>
      )}
      {isTold ? null : <p class="note-bad">{plain(unfinished)}</p>}
      {story === undefined ? null : (
        <details class="step">
          <summary>How it came about</summary>
          <ol class="needs">
            {story.steps.map(({ at, what }, n) => (
              <li key={n}>
                {plain(what)} · <Time at={at} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

/** Without the marks of code. */
function plain(text: string): string {
  return shown(text.replaceAll('`', ''));
}

function Story({ trace }: { readonly trace: TurnTrace }): VNode {
  const { session, did, changes: changed, steps } = trace;
  return (
    <>
      <Cause trace={trace} />
      <p class="lead">
        {shown(headOf(trace))} <a href={hashOf({ session })}>Its conversation</a>
      </p>
      <h2>What it did</h2>
      {did.length === 0 ? <p class="faint">Nothing is recorded but what it read and said.</p> : null}
      <ul class="cards" aria-label="What it did">
        {did.map((effect, at) => (
          <Effect key={at} effect={effect} />
        ))}
      </ul>
      {changed.map((change) => (
        <Change key={`${change.kind} ${change.name}`} change={change} />
      ))}
      <h2>Step by step</h2>
      <ol class="cards" aria-label="Step by step">
        {steps.map((step, at) => (
          <Step key={at} step={step} />
        ))}
      </ol>
    </>
  );
}

function headOf({ outcome, startedAt, endedAt, model, tokens, costUsd, origin }: TurnTrace): string {
  const time = endedAt === null ? '' : ` after ${duration(endedAt - startedAt)}`;
  const read =
    tokens === null ? '' : ` ${model ?? ''}: ${whole(tokens.input)} tokens read, ${whole(tokens.output)} written`;
  return `Begun by ${origin === 'user' ? 'a message' : origin}, ${outcome ?? 'running'}${time}.${read}${costUsd === null ? '' : `, ${money(costUsd)}`}${read === '' ? '' : '.'}`;
}

const OUTCOMES: Readonly<Record<string, string>> = { unknown: 'cut off, so it may or may not be done' };

function Effect({ effect }: { readonly effect: TurnEffect }): VNode {
  const { kind, tool, target, outcome, exitCode, approved } = effect;
  const how = [
    OUTCOMES[outcome] ?? outcome,
    exitCode === null ? [] : `exit code ${exitCode}`,
    approved ? 'approved' : [],
  ];
  return (
    <li>
      <div class="row wrap">
        <span>
          <span class="faint">{target === null ? tool : kind}</span>{' '}
          {target === null ? null : <code>{shown(target)}</code>}
        </span>
        <span class={outcome === 'done' ? 'faint' : 'bad'}>{how.flat().join(', ')}</span>
      </div>
    </li>
  );
}

function Change({ change: { kind, name, lines } }: { readonly change: TurnTrace['changes'][number] }): VNode {
  return (
    <details class="step">
      <summary>
        Changes of the {kind} {shown(name)}
      </summary>
      {lines === null ? <p class="faint">Its text is not kept any more.</p> : <Diff lines={lines.split('\n')} />}
    </details>
  );
}

function Step({ step }: { readonly step: TraceStep }): VNode {
  return (
    <li>
      <div class="row wrap">
        <span>{shown(titleOf(step))}</span>
        <span class="faint">
          {step.tookMs === 0 ? null : `${duration(step.tookMs)} · `}
          <Time at={step.at} />
        </span>
      </div>
      {step.kind === 'model'
        ? step.attempts.flatMap(({ model, failed }, at) =>
            failed === null ? [] : [<p key={at} class="bad">{`${shown(model)}: ${shown(failed)}`}</p>],
          )
        : null}
      {wordsOf(step) === '' ? null : <p class="faint clip">{shown(wordsOf(step))}</p>}
    </li>
  );
}

function titleOf(step: TraceStep): string {
  switch (step.kind) {
    case 'message':
      return 'Message';
    case 'model': {
      const { attempts, tokens, calls } = step;
      const by = attempts.findLast(({ failed }) => failed === null)?.model ?? 'No model answered';
      const read = tokens === null ? '' : `, ${whole(tokens.input)} tokens read, ${whole(tokens.output)} written`;
      return `${by}${read}${calls.length === 0 ? '' : `, ${plural(calls.length, 'call')}`}`;
    }
    case 'tool':
      return `${step.name}${step.isError ? ' failed' : ''}${step.approved ? ', approved' : ''}`;
  }
}

function wordsOf(step: TraceStep): string {
  return step.kind === 'tool' ? step.output : step.text;
}

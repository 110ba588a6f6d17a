import type { VNode } from 'preact';
import { now } from '../clock.ts';
import { operation } from '../net/http.ts';
import { useLoaded } from '../parts/loaded.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { changes } from '../state/app.ts';
import { hashOf, place } from '../state/place.ts';
import { shown } from '../text/shown.ts';
import { TurnStory } from './turn.tsx';

/** One turn, if the address names it; else what it did by itself, and why one heard of it or did not. */
export function Why(): VNode {
  const to = place.value;
  return 'panel' in to && to.turn !== undefined ? <TurnStory turn={to.turn} /> : <Overview />;
}

const DAY = 86_400_000;

function Overview(): VNode {
  return (
    <div class="column">
      <Messages />
      <OwnSteps />
    </div>
  );
}

/** What became of each message of the last day, with the cause. */
function Messages(): VNode | null {
  const { value } = useLoaded(() => operation('why', { count: 50, since: now() - DAY }), [changes('sessions').value]);
  if (value === undefined || value.stories.length === 0) return null;
  return (
    <>
      <h2>Messages of the last day</h2>
      <ol class="cards" aria-label="Messages of the last day">
        {value.stories.map(({ subject, cause, turn, at }, index) => (
          <li key={index}>
            <div class="row wrap">
              <span>{shown(subject)}</span>
              <span class="faint">
                {turn === null ? null : (
                  <>
                    <a href={hashOf({ panel: 'why', turn })}>The whole story</a> ·{' '}
                  </>
                )}
                <Time at={at} />
              </span>
            </div>
            <p class="faint">{shown(cause.replaceAll('`', ''))}</p>
          </li>
        ))}
      </ol>
    </>
  );
}

function OwnSteps(): VNode {
  const { value, problem, again } = useLoaded(
    () => operation('why', { count: 100 }).then(({ own }) => own),
    [changes('schedule').value],
  );
  return (
    <>
      <h2>By itself</h2>
      <p class="lead">What the assistant did without being asked, newest first, and why you heard of it or did not.</p>
      {problem === undefined ? null : <Problem text={problem} again={again} />}
      {value === undefined && problem === undefined ? <Loading /> : null}
      {value?.length === 0 ? <Empty>Nothing yet. Jobs, the heartbeat and its own tidying appear here.</Empty> : null}
      <ol class="cards">
        {value?.map(({ at, what, outcome, reason }, index) => (
          <li key={index}>
            <div class="row">
              <span>{shown(what)}</span>
              <span class="faint">
                {shown(outcome)} · <Time at={at} />
              </span>
            </div>
            {reason === null ? null : <p class="faint">{shown(reason)}</p>}
          </li>
        ))}
      </ol>
    </>
  );
}

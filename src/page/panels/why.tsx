import type { VNode } from 'preact';
import { operation } from '../net/http.ts';
import { useLoaded } from '../parts/loaded.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { changes } from '../state/app.ts';
import { place } from '../state/place.ts';
import { shown } from '../text/shown.ts';
import { TurnStory } from './turn.tsx';

/** One turn, if the address names it; else what it did by itself, and why one heard of it or did not. */
export function Why(): VNode {
  const to = place.value;
  return 'panel' in to && to.turn !== undefined ? <TurnStory turn={to.turn} /> : <OwnSteps />;
}

function OwnSteps(): VNode {
  const { value, problem, again } = useLoaded(
    () => operation('why', { count: 100 }).then(({ own }) => own),
    [changes.schedule.value],
  );
  return (
    <div class="column">
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
    </div>
  );
}

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import {
  Action,
  changes,
  Empty,
  Loading,
  minute,
  operation,
  Problem,
  shown,
  Time,
  useLoaded,
} from '../../../page/api.ts';
import { JobForm, type Job } from './job-form.tsx';

/** Jobs: when they run next, how they went, and changing them. */
export function Schedule(): VNode {
  const { value, problem, again } = useLoaded(() => operation('cron', { action: 'list' }), [changes('schedule').value]);
  const [isAdding, add] = useState(false);
  return (
    <div class="column">
      <p class="lead">
        What the assistant does at its time. You can also ask for it in a conversation: “Remind me at six.”
      </p>
      {isAdding ? (
        <JobForm
          job={undefined}
          close={() => {
            add(false);
            again();
          }}
        />
      ) : (
        <p>
          <button type="button" onClick={() => add(true)}>
            New job
          </button>
        </p>
      )}
      {problem === undefined ? null : <Problem text={problem} again={again} />}
      {value === undefined && problem === undefined ? <Loading /> : null}
      {value?.jobs.length === 0 ? <Empty>Nothing is scheduled.</Empty> : null}
      <ul class="cards">
        {value?.jobs.map((job) => (
          <JobCard key={job.id} job={job} changed={again} />
        ))}
      </ul>
    </div>
  );
}

const STATES: Readonly<Record<Job['state'], string>> = {
  active: '',
  off: 'off',
  waiting: 'waits for your yes',
};

function JobCard({ job, changed }: { readonly job: Job; readonly changed: () => void }): VNode {
  const { id, kind, text, schedule, chat, state, next, code } = job;
  const [shows, show] = useState<'nothing' | 'runs' | 'form'>('nothing');
  const run = async (action: 'run' | 'enable' | 'disable' | 'remove'): Promise<void> => {
    await operation('cron', { action, id, ...(action === 'enable' ? { code } : {}) });
    changed();
  };
  const upcoming = next[0];
  return (
    <li class={state === 'active' ? '' : 'off'}>
      <div class="row wrap">
        <span>
          <strong class="job-text">{shown(text)}</strong>
          <span class="faint block">
            {shown(schedule)}
            {upcoming === undefined || state !== 'active' ? null : (
              <>
                {' · next '}
                <Time at={Date.parse(upcoming)} />
              </>
            )}
            {STATES[state] === '' ? null : ` · ${STATES[state]}`}
          </span>
          <span class="faint block">
            {kind === 'message' ? 'Sent as it is' : kind === 'agent' ? 'A task' : 'A command'} to {shown(chat)}
          </span>
        </span>
      </div>
      <p class="buttons">
        <Action class="quiet" run={() => run('run')} done="The job runs now." label={`Run now: ${id}`}>
          Run now
        </Action>
        <Action
          class="quiet"
          run={() => run(state === 'active' ? 'disable' : 'enable')}
          label={`${state === 'active' ? 'Switch off' : 'Switch on'} ${id}`}
        >
          {state === 'active' ? 'Switch off' : 'Switch on'}
        </Action>
        <button
          type="button"
          class="quiet"
          aria-label={`Edit ${id}`}
          onClick={() => show(shows === 'form' ? 'nothing' : 'form')}
        >
          Edit
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={`Last runs of ${id}`}
          aria-expanded={shows === 'runs'}
          onClick={() => show(shows === 'runs' ? 'nothing' : 'runs')}
        >
          Last runs
        </button>
        <Action class="quiet" sure="Remove it?" run={() => run('remove')} label={`Remove ${id}`}>
          Remove
        </Action>
      </p>
      {shows === 'runs' ? <Runs id={id} /> : null}
      {shows === 'form' ? (
        <JobForm
          job={job}
          close={() => {
            show('nothing');
            changed();
          }}
        />
      ) : null}
    </li>
  );
}

function Runs({ id }: { readonly id: string }): VNode {
  const { value, problem } = useLoaded(
    () => operation('cron', { action: 'show', id }),
    [id, changes('schedule').value, minute.value],
  );
  if (value === undefined) return problem === undefined ? <Loading /> : <Problem text={problem} />;
  if (value.runs.length === 0) return <Empty>It has not run yet.</Empty>;
  return (
    <ul class="runs">
      {value.runs.map(({ due, execution, delivery, reason }) => (
        <li key={due}>
          <Time at={Date.parse(due)} /> · {shown(execution)}
          {delivery === 'none' ? '' : ` · ${shown(delivery)}`}
          {reason === null ? null : <span class="faint block">{shown(reason)}</span>}
        </li>
      ))}
    </ul>
  );
}

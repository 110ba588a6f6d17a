import type { ComponentChildren, VNode } from 'preact';
import { operation } from '../net/http.ts';
import type { HealthFacts } from '../../core/gateway/operations/health.ts';
import { useLoaded } from '../parts/loaded.tsx';
import { Loading, Problem } from '../parts/states.tsx';
import { minute, Time } from '../parts/time.tsx';
import { changes } from '../state/app.ts';
import { bytes, plural } from '../text/figures.ts';
import { shown } from '../text/shown.ts';
import { Mail } from './mail.tsx';

/** How the assistant is, part by part. */
export function Health(): VNode {
  const { value, problem, again } = useLoaded(() => operation('health', {}), [changes('health').value, minute.value]);
  if (value === undefined) return problem === undefined ? <Loading /> : <Problem text={problem} again={again} />;
  const { channels, providers, queues, sandbox, versions, disk, storage, warnings } = value;
  return (
    <div class="column">
      <p class="lead">
        How it’s doing. In a terminal, <code>assistant doctor</code> shows more and fixes what it can.
      </p>
      {problem === undefined ? null : <Problem text={problem} again={again} />}
      {warnings.map((warning) => (
        <p key={warning} class="note-bad">
          {shown(warning)}
        </p>
      ))}
      <h2>Channels</h2>
      <ul class="cards">
        {channels.map(({ name, state, detail, queued }) => (
          <Part key={name} name={name} state={state} detail={detail}>
            {queued === 0 ? null : `${plural(queued, 'message')} to send`}
          </Part>
        ))}
      </ul>
      <h2>Models</h2>
      <ul class="cards">
        {providers.map(({ name, state, detail, at }) => (
          <Part key={name} name={name} state={state} detail={detail}>
            {at === null ? null : <Time at={at} />}
          </Part>
        ))}
      </ul>
      <h2>Messages</h2>
      <p class="faint">{sentenceAbout(queues)}</p>
      <Mail />
      <h2>Machine</h2>
      <ul class="cards">
        <Part name="Commands" state={sandbox.state} detail={sandbox.detail} />
        <Part name="Disk" state={disk.state} detail={disk.reason ?? freeOf(disk)} />
        {storage === null ? null : <Part name="Stores" state="ok" detail={storage} />}
        <Part
          name="Versions"
          state=""
          detail={Object.entries(versions)
            .map(([name, version]) => `${name} ${version}`)
            .join(', ')}
        />
      </ul>
    </div>
  );
}

function sentenceAbout({ runningTurns, inbound, outbound, deadLetters }: HealthFacts['queues']): string {
  const lost = deadLetters === 0 ? '' : `, ${plural(deadLetters, 'message')} not delivered`;
  return `${plural(runningTurns, 'answer')} in the making, ${inbound} waiting for one, ${outbound} to be sent${lost}.`;
}

function freeOf({ freeBytes, totalBytes }: HealthFacts['disk']): string | null {
  if (freeBytes === null) return null;
  return `${bytes(freeBytes)} free${totalBytes === null ? '' : ` of ${bytes(totalBytes)}`}`;
}

const GOOD = new Set(['ok', 'running', 'connected', 'on', 'active', 'available', '']);
/** Neither well nor bad. */
const PLAIN = new Set(['off', 'unknown']);

function Part({
  name,
  state,
  detail,
  children,
}: {
  readonly name: string;
  readonly state: string;
  readonly detail: string | null;
  readonly children?: ComponentChildren;
}): VNode {
  return (
    <li>
      <div class="row">
        <strong>{shown(name)}</strong>
        <span class="faint">{children}</span>
        {state === '' ? null : (
          <span class={GOOD.has(state) ? 'well' : PLAIN.has(state) ? 'faint' : 'bad'}>
            {state === 'unknown' ? 'not used since the start' : shown(state)}
          </span>
        )}
      </div>
      {detail === null || detail === '' ? null : <p class="faint">{shown(detail)}</p>}
    </li>
  );
}

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { FileName } from '../../core/gateway/operations/files.ts';
import { diffLines } from '../../core/util/line-diff.ts';
import { Diff } from '../chat/diff.tsx';
import { operation } from '../net/http.ts';
import { Action } from '../parts/action.tsx';
import { useLoaded } from '../parts/loaded.tsx';
import { Empty, Problem } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { bytes } from '../text/figures.ts';
import { shown } from '../text/shown.ts';

interface Props {
  readonly name: FileName;
  /** The text as it is now. */
  readonly present: string;
  readonly restored: () => Promise<void>;
}

/** Earlier versions of a file, each of which can be looked at and restored. */
export function FileHistory({ name, present, restored }: Props): VNode {
  const { value, problem } = useLoaded(() => operation('filesLog', { name }), [name, present]);
  const [version, show] = useState<{ readonly id: string; readonly text: string }>();
  const look = async (id: string): Promise<void> => {
    if (version?.id === id) return show(undefined);
    const { text } = await operation('filesVersion', { name, id });
    show({ id, text });
  };
  const restore = async (id: string): Promise<void> => {
    await operation('filesRestore', { name, id });
    show(undefined);
    await restored();
  };
  return (
    <section aria-label="Earlier versions">
      <h2>Earlier versions</h2>
      {problem === undefined ? null : <Problem text={problem} />}
      {value?.length === 0 ? <Empty>None yet. Each change keeps the text that was there before.</Empty> : null}
      <ul class="cards">
        {value?.map(({ id, at, reason, size, kind }) => (
          <li key={id}>
            <p class="row wrap">
              <span>
                <Time at={at} /> · {bytes(size)}
                {kind === 'proposed' ? ' · proposed, waits for you' : ''}
                <span class="faint block">{shown(reason)}</span>
              </span>
              <Action
                class="quiet"
                run={() => look(id)}
                label={`Compare with the version of ${new Date(at).toLocaleString()}`}
              >
                {version?.id === id ? 'Hide' : 'Compare'}
              </Action>
              <Action class="quiet" sure="Restore it?" run={() => restore(id)} done={`${name} is restored.`}>
                Restore
              </Action>
            </p>
            {version?.id === id ? <Comparison before={present} after={version.text} /> : null}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Comparison({ before, after }: { readonly before: string; readonly after: string }): VNode {
  const lines = diffLines(before, after).map(({ sign, line }) => `${sign} ${line}`);
  if (lines.length === 0) return <p class="faint">It is the same as the present text.</p>;
  return <Diff lines={lines} />;
}

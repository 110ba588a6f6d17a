import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { LiveTool } from '../../core/bus/live-turn.ts';
import type { HistoryItem } from '../../core/gateway/http/wire.ts';
import { shown } from '../text/shown.ts';
import { duration } from '../text/time.ts';
import { argumentsOf, changeOf, titleOf } from './arguments.ts';
import { Diff } from './diff.tsx';
import { LongText } from './long-text.tsx';

/** What is shown of an output before one asks for more, characters. */
const FIRST = 4_000;

/** A tool call that has ended: one line, which unfolds. */
export function Tool({
  call,
  result,
}: {
  readonly call: HistoryItem;
  readonly result: HistoryItem | undefined;
}): VNode {
  const [isOpen, unfold] = useState(false);
  const name = call.name ?? 'tool';
  const time = result === undefined ? '' : duration(Math.max(0, result.at - call.at));
  const isError = result?.isError === true;
  return (
    <details class={`step${isError ? ' failed' : ''}`} onToggle={(event) => unfold(event.currentTarget.open)}>
      <summary>
        <span class="name">{shown(titleOf(name, call.text))}</span>
        <span class="faint">{isError ? `failed · ${time}` : time}</span>
      </summary>
      {isOpen ? <Inside name={name} call={call} result={result} /> : null}
    </details>
  );
}

function Inside({
  name,
  call,
  result,
}: {
  readonly name: string;
  readonly call: HistoryItem;
  readonly result: HistoryItem | undefined;
}): VNode {
  const change = changeOf(name, call.text);
  return (
    <div class="inside">
      {change === undefined ? (
        <dl>
          {argumentsOf(call.text).map(([key, value]) => (
            <div key={key}>
              <dt>{shown(key)}</dt>
              <dd>
                <pre tabIndex={0}>{shown(value)}</pre>
              </dd>
            </div>
          ))}
        </dl>
      ) : (
        <Diff lines={change} />
      )}
      {call.cut === true ? <LongText item={call} /> : null}
      {result === undefined ? <p class="faint">It has no result.</p> : <Output result={result} />}
    </div>
  );
}

function Output({ result }: { readonly result: HistoryItem }): VNode {
  const [isWhole, showAll] = useState(false);
  const { text } = result;
  const isLong = text.length > FIRST;
  return (
    <>
      <pre class="output" tabIndex={0} role="region" aria-label="Output">
        {text === '' ? 'No output.' : shown(isLong && !isWhole ? text.slice(0, FIRST) : text)}
      </pre>
      {isLong && !isWhole ? (
        <button type="button" class="quiet" onClick={() => showAll(true)}>
          Show more
        </button>
      ) : null}
      {result.cut === true && (isWhole || !isLong) ? <LongText item={result} /> : null}
    </>
  );
}

/** A tool call of a turn that runs. */
export function RunningTool({ tool }: { readonly tool: LiveTool }): VNode {
  const isFailed = tool.state === 'failed';
  const about =
    tool.state === 'running'
      ? 'running'
      : `${isFailed ? 'failed · ' : ''}${tool.durationMs === undefined ? '' : duration(tool.durationMs)}`;
  const title = tool.title === '' ? tool.name : tool.title;
  if (tool.diff === undefined && tool.problem === undefined) {
    return (
      <p class={`step ${tool.state}`}>
        <span class="name">{shown(title)}</span>
        <span class="faint">{about}</span>
      </p>
    );
  }
  return (
    <details class={`step ${tool.state}`}>
      <summary>
        <span class="name">{shown(title)}</span>
        <span class="faint">{about}</span>
      </summary>
      <div class="inside">
        {tool.diff === undefined ? null : <Diff lines={tool.diff.split('\n')} />}
        {tool.problem === undefined ? null : <p class="plain">{shown(tool.problem)}</p>}
      </div>
    </details>
  );
}

import { computed } from '@preact/signals';
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { LiveSegment, LiveTurn } from '../../core/bus/live-turn.ts';
import { liveTurns } from '../state/live.ts';
import { GrowingMarkdown } from '../text/markdown.tsx';
import { shown } from '../text/shown.ts';
import { Reasoning } from './entry.tsx';
import { RunningTool } from './tool.tsx';

/** What the running turns of a conversation say and do. */
export function Live({ session }: { readonly session: string }): VNode | null {
  const turns = useMemo(
    () => computed(() => [...liveTurns.value.values()].filter((turn) => turn.session === session)),
    [session],
  );
  if (turns.value.length === 0) return null;
  return (
    <div class="entries" aria-busy="true">
      {turns.value.map((turn) => (
        <Turn key={turn.turn} turn={turn} />
      ))}
    </div>
  );
}

function Turn({ turn }: { readonly turn: LiveTurn }): VNode {
  const { segments } = turn;
  const last = segments.at(-1);
  const isQuiet = last === undefined || (last.kind === 'tool' && last.tool.state !== 'running');
  return (
    <>
      {segments.map((segment, at) => (
        <div key={at} class={`entry ${segment.kind === 'text' ? 'answer' : segment.kind}`}>
          <SegmentView segment={segment} />
        </div>
      ))}
      {isQuiet || turn.status !== '' ? (
        <p class="working">{turn.status === '' ? 'Working' : shown(turn.status)}</p>
      ) : null}
    </>
  );
}

function SegmentView({ segment }: { readonly segment: LiveSegment }): VNode {
  switch (segment.kind) {
    case 'text':
      return <GrowingMarkdown text={segment.text} />;
    case 'reasoning':
      return <Reasoning text={segment.text} isRunning />;
    case 'tool':
      return <RunningTool tool={segment.tool} />;
  }
}

import { computed } from '@preact/signals';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { VNode } from 'preact';
import { Icon } from '../parts/icon.tsx';
import { Loading, Problem } from '../parts/states.tsx';
import { conversation } from '../state/app.ts';
import { loadNewest, loadOlder, shownRows } from '../state/conversation.ts';
import { runningTurns } from '../state/live.ts';
import { chatOf } from '../state/place.ts';
import { unsent } from '../state/unsent.ts';
import { EntryView } from './entry.tsx';
import { Live } from './live.tsx';
import { timelineOf, type Entry } from './timeline.ts';

/** How near to the end counts as reading the newest, pixels. */
const NEAR = 80;

/** What was said, newest at the end; older parts come when one scrolls up to them. */
export function Conversation({ session, canWrite }: { readonly session: string; readonly canWrite: boolean }): VNode {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const { isAtEnd, toEnd } = useFollowing(scroller, content);
  const open = conversation.value;
  const isMine = open.session === session;
  const entries = useMemo(
    () =>
      computed(() =>
        timelineOf({
          items: open.items.value,
          rows: shownRows(open),
          unsent: unsent.value.filter(({ chat }) => chat === chatOf(session)),
          running: runningTurns.value,
        }),
      ),
    [open],
  );
  // What one sends is seen at once.
  const sent = unsent.value.length;
  useEffect(() => {
    if (sent > 0) toEnd();
  }, [sent]);
  if (!isMine || open.state.value === 'loading') return <div class="scroller">{isMine ? null : <Loading />}</div>;
  if (open.state.value === 'failed') {
    return (
      <div class="scroller">
        <Problem text={open.problem.value} again={() => void loadNewest(open)} />
      </div>
    );
  }
  const isEmpty = entries.value.length === 0;
  return (
    <div ref={scroller} class="scroller" tabIndex={0} role="region" aria-label="Conversation">
      <div ref={content} class="column">
        <Older scroller={scroller} />
        {isEmpty && canWrite ? <Welcome /> : null}
        <Entries entries={entries.value} canWrite={canWrite} />
        <Live session={session} />
        {open.hasNewer.value ? (
          <button type="button" class="middle" onClick={() => void loadNewest(open).then(toEnd)}>
            Show the newest messages
          </button>
        ) : null}
      </div>
      {isAtEnd ? null : (
        <button type="button" class="round to-end" aria-label="To the newest message" onClick={toEnd}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

const Entries = memo(function Entries({
  entries,
  canWrite,
}: {
  readonly entries: readonly Entry[];
  readonly canWrite: boolean;
}): VNode {
  const last = entries.findLast(({ kind, isTakenBack }) => kind === 'answer' && isTakenBack !== true)?.key;
  return (
    <ol class="entries">
      {entries.map((entry) => (
        <EntryView key={entry.key} entry={entry} isLast={canWrite && entry.key === last} />
      ))}
    </ol>
  );
});

function Welcome(): VNode {
  return (
    <div class="welcome">
      <h2>What can I do for you?</h2>
      <p>
        Write below, drop a file, or paste a picture. It remembers what matters, and asks before it does something that
        cannot be taken back. <code>/help</code> shows its commands.
      </p>
    </div>
  );
}

/** Loads what came before as soon as its place is near, and keeps what is read where it is. */
function Older({ scroller }: { readonly scroller: { readonly current: HTMLDivElement | null } }): VNode | null {
  const mark = useRef<HTMLButtonElement>(null);
  const isBusy = useRef(false);
  const open = conversation.value;
  const load = async (): Promise<void> => {
    const box = scroller.current;
    if (isBusy.current || box === null) return;
    isBusy.current = true;
    const fromEnd = box.scrollHeight - box.scrollTop;
    await loadOlder(open).catch(() => {});
    requestAnimationFrame(() => {
      box.scrollTop = box.scrollHeight - fromEnd;
      isBusy.current = false;
    });
  };
  const { length } = open.items.value;
  useEffect(() => {
    const element = mark.current;
    if (element === null) return undefined;
    const observer = new IntersectionObserver(
      ([seen]) => {
        if (seen?.isIntersecting === true) void load();
      },
      { root: scroller.current, rootMargin: '600px 0px 0px 0px' },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [open, length]);
  if (!open.hasOlder.value) return null;
  return (
    <button ref={mark} type="button" class="middle" onClick={() => void load()}>
      Show older messages
    </button>
  );
}

/** Keeps the end in view while one reads there. */
function useFollowing(
  scroller: { readonly current: HTMLDivElement | null },
  content: { readonly current: HTMLDivElement | null },
): { readonly isAtEnd: boolean; readonly toEnd: () => void } {
  const [isAtEnd, atEnd] = useState(true);
  const follows = useRef(true);
  const toEnd = (): void => {
    follows.current = true;
    const box = scroller.current;
    if (box !== null) box.scrollTop = box.scrollHeight;
  };
  const isReady = conversation.value.state.value === 'ready';
  useLayoutEffect(() => {
    const [box, inner] = [scroller.current, content.current];
    if (box === null || inner === null) return undefined;
    toEnd();
    let [height, shown] = [box.scrollHeight, box.clientHeight];
    const scrolled = (): void => {
      // What grows below the reader, or takes room from the list, is no scrolling of theirs.
      if (box.scrollHeight !== height || box.clientHeight !== shown) return;
      follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
      atEnd(follows.current);
    };
    const grown = new ResizeObserver(() => {
      [height, shown] = [box.scrollHeight, box.clientHeight];
      if (follows.current) box.scrollTop = height;
    });
    grown.observe(inner);
    grown.observe(box);
    box.addEventListener('scroll', scrolled, { passive: true });
    return () => {
      grown.disconnect();
      box.removeEventListener('scroll', scrolled);
    };
  }, [isReady]);
  return { isAtEnd, toEnd };
}

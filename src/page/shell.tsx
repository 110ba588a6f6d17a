import type { ComponentType, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Chat } from './chat/chat.tsx';
import { Sessions, sessionTitle } from './chat/sessions.tsx';
import { Menu } from './menu.tsx';
import { connection } from './net/feed.ts';
import { Icon } from './parts/icon.tsx';
import { Problem } from './parts/states.tsx';
import { sentenceOf } from './net/http.ts';
import { panelNamed } from './state/panels.ts';
import { place, type PanelName } from './state/place.ts';
import { unsent } from './state/unsent.ts';

/** The page of somebody who is logged in: the conversation, or a panel in its place. */
export function Shell(): VNode {
  const to = place.value;
  const title = 'panel' in to ? (panelNamed(to.panel)?.title ?? to.panel) : sessionTitle(to.session);
  useEffect(() => {
    document.title = 'panel' in to ? `${title} · Assistant` : 'Assistant';
  }, [title]);
  return (
    <div class="shell">
      <header>
        <SessionsButton />
        <h1>{title}</h1>
        <Menu />
      </header>
      <OfflineBar />
      <Sessions id="sessions" />
      {'panel' in to ? <Panel key={to.panel} name={to.panel} /> : <Chat key={to.session} session={to.session} />}
    </div>
  );
}

function SessionsButton(): VNode {
  const button = useRef<HTMLButtonElement>(null);
  return (
    <button
      ref={button}
      type="button"
      class="round"
      popovertarget="sessions"
      aria-label="Conversations"
      title="Conversations"
    >
      <Icon name="list" />
    </button>
  );
}

function OfflineBar(): VNode | null {
  if (connection.value !== 'offline') return null;
  const waiting = unsent.value.filter(({ state }) => state === 'sending').length;
  return (
    <p class="bar" role="status">
      {waiting === 0
        ? 'Offline. What you write is kept here and sent when the assistant can be reached again.'
        : 'Offline. Your message is kept here and sent when the assistant can be reached again.'}
    </p>
  );
}

/** Panels come with the first look at one. */
function Panel({ name }: { readonly name: PanelName }): VNode {
  const [panel, show] = useState<{ readonly Content: ComponentType } | { readonly problem: string }>();
  useEffect(() => {
    (panelNamed(name)?.load() ?? Promise.reject(new Error('There is no such panel.'))).then(
      (Content) => show({ Content }),
      (error: unknown) => show({ problem: sentenceOf(error) }),
    );
  }, [name]);
  return (
    <main class="panel" id="main" tabIndex={0} aria-label={panelNamed(name)?.title}>
      {panel === undefined ? null : 'problem' in panel ? <Problem text={panel.problem} /> : <panel.Content />}
    </main>
  );
}

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { after } from '../clock.ts';
import { newId } from '../net/ids.ts';
import { operation, sentenceOf } from '../net/http.ts';
import type { SessionFacts } from '../../core/gateway/operations/sessions.ts';
import { Icon } from '../parts/icon.tsx';
import { Problem } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { connection } from '../net/feed.ts';
import { changes, isRunning } from '../state/app.ts';
import { hashOf, main, place, chatOf, go } from '../state/place.ts';
import { shown } from '../text/shown.ts';
import { exportSession } from './export.ts';

/** What is loaded of the list, newest first. */
const sessions = signal<readonly SessionFacts[]>([]);
const next = signal<string | null>(null);
const problem = signal('');

const PAGE = 40;

async function load(before?: string): Promise<void> {
  try {
    const page = await operation('sessionsList', { limit: PAGE, ...(before === undefined ? {} : { before }) });
    const known = before === undefined ? [] : sessions.value;
    sessions.value = [...known, ...page.sessions];
    next.value = page.next;
    problem.value = '';
  } catch (error) {
    problem.value = sentenceOf(error);
  }
}

/** What a conversation is called. */
export function sessionTitle(session: string): string {
  const known = sessions.value.find((one) => one.session === session)?.title ?? '';
  if (known !== '') return shown(known);
  if (session === main.value) return 'Assistant';
  return chatOf(session) === undefined ? shown(session) : 'New conversation';
}

/** All conversations, with a search over what was said in them. */
export function Sessions({ id }: { readonly id: string }): VNode {
  const box = useRef<HTMLElement>(null);
  const [text, search] = useState('');
  const close = (): void => box.current?.hidePopover();
  const isOnline = connection.value === 'online';
  useEffect(() => {
    if (isOnline) void load();
  }, [isOnline, changes('sessions').value]);
  const begin = (): void => {
    close();
    go({ session: `web:${newId()}` });
  };
  return (
    <nav ref={box} id={id} class="sessions" popover="auto" aria-label="Conversations">
      <div class="row">
        <button type="button" class="line" onClick={begin}>
          <Icon name="new" /> New conversation
        </button>
        <button type="button" class="round" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <input
        type="search"
        aria-label="Search all conversations"
        placeholder="Search all conversations"
        value={text}
        onInput={(event) => search(event.currentTarget.value)}
      />
      {problem.value === '' ? null : <Problem text={problem.value} again={() => void load()} />}
      {text.trim() === '' ? <List close={close} /> : <Found text={text.trim()} close={close} />}
      <Export />
    </nav>
  );
}

function List({ close }: { readonly close: () => void }): VNode {
  const to = place.value;
  const here = 'session' in to ? to.session : '';
  return (
    <ul class="list">
      {sessions.value.map(({ session, channel, title, changedAt, running }) => (
        <li key={session}>
          <a href={hashOf({ session })} aria-current={session === here ? 'page' : undefined} onClick={close}>
            <span class="name">{title === '' ? shown(session) : shown(title)}</span>
            <span class="faint">
              {channel === 'web' ? null : `${shown(channel)} · `}
              {running || isRunning(session) ? 'working' : <Time at={changedAt} />}
            </span>
          </a>
        </li>
      ))}
      {next.value === null ? null : (
        <li>
          <button type="button" class="quiet" onClick={() => void load(next.value ?? undefined)}>
            Show more
          </button>
        </li>
      )}
    </ul>
  );
}

type Hits = Awaited<ReturnType<typeof operation<'sessionsSearch'>>>;

function Found({ text, close }: { readonly text: string; readonly close: () => void }): VNode {
  const [found, show] = useState<{ readonly hits?: Hits; readonly problem?: string }>({});
  useEffect(() => {
    let isCurrent = true;
    const cancel = after(250, () => {
      operation('sessionsSearch', { text: text.slice(0, 400), count: 30 }).then(
        (hits) => isCurrent && show({ hits }),
        (error: unknown) => isCurrent && show({ problem: sentenceOf(error) }),
      );
    });
    return () => {
      isCurrent = false;
      cancel();
    };
  }, [text]);
  if (found.problem !== undefined) return <Problem text={found.problem} />;
  if (found.hits === undefined) return <p class="faint">Searching …</p>;
  if (found.hits.length === 0) return <p class="faint">Nothing was found.</p>;
  return (
    <ul class="list">
      {found.hits.some(({ ofAnyTime }) => ofAnyTime) ? (
        <li class="faint">Nothing with these words is of that time; these are of any time.</li>
      ) : null}
      {found.hits.map(({ source, session, at, snippet }, index) => (
        <li key={index}>
          <a href={session === null ? hashOf({ panel: 'memory' }) : hashOf({ session })} onClick={close}>
            <span class="snippet">{shown(snippet)}</span>
            <span class="faint">
              {source === 'session' ? shown(session ?? '') : source}
              {at === null ? null : (
                <>
                  {' · '}
                  <Time at={at} />
                </>
              )}
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Export(): VNode | null {
  const to = place.value;
  const [problem, say] = useState('');
  if (!('session' in to)) return null;
  const { session } = to;
  return (
    <div class="foot">
      <button
        type="button"
        class="quiet"
        onClick={() =>
          void exportSession(session).then(
            () => say(''),
            (error: unknown) => say(sentenceOf(error)),
          )
        }
      >
        Save this conversation as Markdown
      </button>
      {problem === '' ? null : <p class="bad">{problem}</p>}
    </div>
  );
}

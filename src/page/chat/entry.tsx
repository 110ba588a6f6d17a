import type { VNode } from 'preact';
import { memo } from 'preact/compat';
import type { HistoryUsage, Row, WireMedia } from '../../core/gateway/http/wire.ts';
import { withLogin } from '../net/http.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Time } from '../parts/time.tsx';
import { conversation } from '../state/app.ts';
import { chatOf, hashOf } from '../state/place.ts';
import { forget, sendAgain, sendMessage, type Unsent } from '../state/unsent.ts';
import { money, whole } from '../text/figures.ts';
import { Markdown } from '../text/markdown.tsx';
import { shown } from '../text/shown.ts';
import { duration } from '../text/time.ts';
import { LongText } from './long-text.tsx';
import type { Entry } from './timeline.ts';
import { Tool } from './tool.tsx';

interface Props {
  readonly entry: Entry;
  /** It is the newest answer, which can be asked for again or taken back. */
  readonly isLast: boolean;
}

export const EntryView = memo(function EntryView({ entry, isLast }: Props): VNode {
  return (
    <li class={`entry ${entry.kind}${entry.isTakenBack === true ? ' gone' : ''}`}>
      {entry.isTakenBack === true && entry.kind === 'user' ? <p class="faint">Taken back</p> : null}
      <Content entry={entry} isLast={isLast} />
    </li>
  );
}, isSame);

/** An entry is made anew with each change of the list; what it shows is the same while its parts are. */
function isSame(before: Props, after: Props): boolean {
  if (before.isLast !== after.isLast || before.entry.kind !== after.entry.kind) return false;
  const [a, b] = [Object.entries(before.entry), Object.entries(after.entry)];
  const other: Readonly<Record<string, unknown>> = { ...after.entry };
  return a.length === b.length && a.every(([name, value]) => value === other[name] || isEmptyList(value, other[name]));
}

function isEmptyList(a: unknown, b: unknown): boolean {
  return Array.isArray(a) && Array.isArray(b) && a.length === 0 && b.length === 0;
}

function Content({ entry, isLast }: Props): VNode {
  switch (entry.kind) {
    case 'user':
      return <User entry={entry} />;
    case 'answer':
      return <Answer entry={entry} isLast={isLast} />;
    case 'reasoning':
      return <Reasoning text={entry.text} />;
    case 'tool':
      return <Tool call={entry.call} result={entry.result} />;
    case 'mark':
      return <p class="mark">{shown(entry.text.replaceAll('`', ''))}</p>;
    case 'notice':
      return <Notice row={entry.row} />;
  }
}

function User({ entry }: { readonly entry: Extract<Entry, { kind: 'user' }> }): VNode {
  return (
    <article aria-label={entry.sender === undefined ? 'You' : shown(entry.sender)}>
      <Images hashes={entry.images} />
      <Files media={entry.media} />
      {entry.text === '' ? null : (
        <p class="said" dir="auto">
          {shown(entry.text)}
        </p>
      )}
      {entry.item?.cut === true ? <LongText item={entry.item} /> : null}
      <p class="under">{entry.unsent === undefined ? <Time at={entry.at} /> : <Sending message={entry.unsent} />}</p>
    </article>
  );
}

function Sending({ message }: { readonly message: Unsent }): VNode {
  if (message.state !== 'failed') return <span>{message.state === 'sending' ? 'Sending …' : 'Sent'}</span>;
  return (
    <>
      <span class="bad">{message.problem}</span>
      <button type="button" class="quiet" onClick={() => sendAgain(message)}>
        Send again
      </button>
      <button type="button" class="quiet" onClick={() => forget(message.id)}>
        Discard
      </button>
    </>
  );
}

function Answer({
  entry,
  isLast,
}: {
  readonly entry: Extract<Entry, { kind: 'answer' }>;
  readonly isLast: boolean;
}): VNode {
  const chat = chatOf(conversation.value.session);
  const say = (text: string): void => {
    if (chat !== undefined) sendMessage({ chat, text });
  };
  return (
    <article aria-label="Assistant">
      <Markdown text={entry.text} />
      {entry.item?.cut === true ? <LongText item={entry.item} /> : null}
      {entry.usage === undefined && !isLast ? null : (
        <p class="under">
          <Time at={entry.at} />
          {entry.usage === undefined ? null : <UsageLine usage={entry.usage} />}
          <span class="actions">
            <CopyButton text={entry.text} label="Copy the answer" />
            <WhyLink turn={entry.item?.turn} />
            {isLast ? (
              <>
                <button type="button" class="quiet" onClick={() => say('/retry')}>
                  Retry
                </button>
                <button type="button" class="quiet" onClick={() => say('/undo')}>
                  Undo
                </button>
              </>
            ) : null}
          </span>
        </p>
      )}
    </article>
  );
}

/** To the story of the turn behind an answer. */
function WhyLink({ turn }: { readonly turn: string | null | undefined }): VNode | null {
  if (turn == null) return null;
  return (
    <a class="quiet" href={hashOf({ panel: 'why', turn })}>
      Why?
    </a>
  );
}

function UsageLine({ usage }: { readonly usage: HistoryUsage }): VNode {
  const { input, output, costUsd, model, durationMs } = usage;
  const detail = `${model === null ? '' : `${model}: `}${whole(input)} tokens read, ${whole(output)} written`;
  return (
    <span title={shown(detail)}>
      {[durationMs === null ? [] : duration(durationMs), costUsd === null ? [] : money(costUsd)].flat().join(' · ')}
    </span>
  );
}

export function Reasoning({ text, isRunning = false }: { readonly text: string; readonly isRunning?: boolean }): VNode {
  return (
    <details class="step">
      <summary>{isRunning ? 'Thinking …' : 'Thought about it'}</summary>
      <div class="inside">
        <p class="plain" dir="auto">
          {shown(text)}
        </p>
      </div>
    </details>
  );
}

function Notice({ row }: { readonly row: Row }): VNode {
  const chat = chatOf(row.session);
  return (
    <article aria-label={row.kind === 'notice' ? 'Notice' : 'Assistant'}>
      {row.text === '' ? null : <Markdown text={row.text} />}
      <Files media={row.media ?? []} />
      {row.buttons === undefined || chat === undefined ? null : (
        <p class="buttons">
          {row.buttons.flat().map(({ id, label }) => (
            <button key={id} type="button" onClick={() => sendMessage({ chat, text: id.replace(/^say:/u, '') })}>
              {shown(label)}
            </button>
          ))}
        </p>
      )}
      {row.text === '' ? null : (
        <p class="under">
          <Time at={row.at} />
          {row.from === undefined ? null : <span>{shown(`from ${row.from}`)}</span>}
          {row.kind === 'answer' ? <WhyLink turn={row.turn} /> : null}
        </p>
      )}
    </article>
  );
}

function Images({ hashes }: { readonly hashes: readonly string[] }): VNode | null {
  if (hashes.length === 0) return null;
  return (
    <p class="images">
      {hashes.map((hash) => (
        <a
          key={hash}
          href={withLogin(`/api/media/${encodeURIComponent(hash)}`)}
          target="_blank"
          rel="noopener noreferrer"
        >
          <img src={withLogin(`/api/media/${encodeURIComponent(hash)}`)} alt="Image in this message" loading="lazy" />
        </a>
      ))}
    </p>
  );
}

function Files({ media }: { readonly media: readonly WireMedia[] }): VNode | null {
  if (media.length === 0) return null;
  return (
    <ul class="files" aria-label="Files">
      {media.map(({ name, url, mediaType }, at) => (
        <li key={at}>
          {url?.startsWith('/api/') === true && mediaType.startsWith('audio/') ? (
            <audio controls preload="none" src={withLogin(url)} aria-label={shown(name)} />
          ) : null}
          {url === null || !url.startsWith('/api/') ? (
            <span class="name">{shown(name)}</span>
          ) : (
            <a class="name" href={withLogin(url)} download={name} rel="noopener noreferrer">
              {shown(name)}
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}

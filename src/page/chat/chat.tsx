import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';
import { chatOf } from '../state/place.ts';
import { Attachments } from './attachments.ts';
import { Composer } from './composer.tsx';
import { Conversation } from './list.tsx';
import { Questions } from './questions.tsx';

/** A conversation: what was said, what waits for an answer, and where to write. */
export function Chat({ session }: { readonly session: string }): VNode {
  const chat = chatOf(session);
  const files = useRef<Attachments | undefined>(undefined);
  files.current ??= new Attachments();
  const attachments = files.current;
  const [isOver, over] = useState(false);
  useEffect(() => () => attachments.clear(), []);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    over(false);
    if (chat !== undefined) attachments.add(event.dataTransfer?.files);
  };
  const drag = (event: DragEvent): void => {
    if (chat === undefined || event.dataTransfer?.types.includes('Files') !== true) return;
    event.preventDefault();
    over(true);
  };
  const leave = (event: DragEvent): void => {
    if (event.relatedTarget === null) over(false);
  };
  return (
    <main class="chat" id="main" onDragOver={drag} onDragLeave={leave} onDrop={drop}>
      <Conversation session={session} canWrite={chat !== undefined} />
      <div class="below">
        <Questions session={session} />
        {chat === undefined ? (
          <p class="note">
            This conversation is on {session.split(':')[0]}. It is shown here to be read; answer where it takes place.
          </p>
        ) : (
          <Composer session={session} chat={chat} files={attachments} />
        )}
      </div>
      {isOver ? (
        <p class="drop">
          <Icon name="attach" /> Drop files to attach them
        </p>
      ) : null}
    </main>
  );
}

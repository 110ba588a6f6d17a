import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { MessageReply } from '../../core/gateway/http/wire.ts';
import { bytes } from '../text/figures.ts';
import { shown } from '../text/shown.ts';
import { newId } from '../net/ids.ts';
import { post, sentenceOf } from '../net/http.ts';
import { Icon } from '../parts/icon.tsx';
import { announcement, isRunning } from '../state/app.ts';
import { draftOf, keepDraft } from '../state/drafts.ts';
import { sendMessage } from '../state/unsent.ts';
import type { Attachment, Attachments } from './attachments.ts';
import { Microphone } from './microphone.tsx';
import { ModelChoice } from './model-choice.tsx';

interface Props {
  readonly session: string;
  readonly chat: string;
  readonly files: Attachments;
}

/** Where one writes: Enter sends, Shift+Enter begins a new line. */
export function Composer({ session, chat, files }: Props): VNode {
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const running = isRunning(session);
  useEffect(() => {
    if (field.current === null) return;
    field.current.value = draftOf(chat);
    // On a phone the keyboard would cover the conversation at once.
    if (matchMedia('(hover: hover)').matches) field.current.focus({ preventScroll: true });
  }, []);

  const send = async (): Promise<void> => {
    await files.settled();
    const text = field.current?.value.trim() ?? '';
    const ready = files.list.value.filter(({ upload }) => upload !== undefined);
    if (text === '' && ready.length === 0) return;
    const media = ready.map(({ upload = '', name }) => ({ upload, name }));
    sendMessage({ chat, text, ...(media.length === 0 ? {} : { media }) });
    files.clear();
    if (field.current !== null) field.current.value = '';
    keepDraft(chat, '');
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void send();
  };
  const paste = (event: ClipboardEvent): void => {
    const pasted = event.clipboardData?.files;
    if (pasted === undefined || pasted.length === 0) return;
    event.preventDefault();
    files.add(pasted);
  };
  return (
    <form
      class="composer"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Files files={files} />
      <textarea
        ref={field}
        rows={1}
        aria-label="Write to the assistant"
        placeholder={running ? 'Add something while it works' : 'Write to the assistant'}
        enterkeyhint="send"
        onKeyDown={key}
        onPaste={paste}
        onInput={(event) => keepDraft(chat, event.currentTarget.value)}
      />
      <div class="tools">
        <button
          type="button"
          class="round"
          aria-label="Attach files"
          title="Attach files"
          onClick={() => picker.current?.click()}
        >
          <Icon name="attach" />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={(event) => {
            files.add(event.currentTarget.files ?? []);
            event.currentTarget.value = '';
          }}
        />
        <Microphone chat={chat} />
        <ModelChoice session={session} chat={chat} />
        <span class="space" />
        {running ? (
          <button type="button" class="round stop" aria-label="Stop" title="Stop" onClick={() => void stop(chat)}>
            <Icon name="stop" />
          </button>
        ) : null}
        <button type="submit" class="round send" aria-label="Send" title="Send">
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}

async function stop(chat: string): Promise<void> {
  try {
    await post<MessageReply>('/api/stop', { id: newId(), chat });
  } catch (error) {
    announcement.value = sentenceOf(error);
  }
}

function Files({ files }: { readonly files: Attachments }): VNode | null {
  const list = files.list.value;
  if (list.length === 0) return null;
  return (
    <ul class="files" aria-label="Attached files">
      {list.map((file) => (
        <li key={file.id} class={file.state}>
          {file.preview === undefined ? null : <img src={file.preview} alt="" />}
          <span class="name">{shown(file.name)}</span>
          <span class="faint">{aboutFile(file)}</span>
          <button type="button" class="quiet" aria-label={`Remove ${file.name}`} onClick={() => files.remove(file.id)}>
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

function aboutFile({ state, size, problem }: Attachment): string {
  if (state === 'failed') return problem ?? 'Not uploaded';
  return state === 'uploading' ? 'Uploading …' : bytes(size);
}

import { join } from 'node:path';
import type { App } from '../../app.ts';
import type { Media, OutboundMessage } from '../../bus/messages.ts';
import { ensureDirectory, replaceDurable } from '../../storage/files.ts';
import { cut } from '../../util/text.ts';
import { withParts } from '../outgoing.ts';
import type { OutboundDraft } from '../../journal/outbox.ts';

/** An answer is sent as at most this many messages; the rest is in a file. */
const MOST_PARTS = 10;
const NAME = 'answer.md';
const GOES_ON = `The answer goes on: all of it is in the file ${NAME}.`;

/** Renders an answer. One that would be more than ten messages is cut, and all of it follows as a file. */
export async function answerWithParts(
  message: OutboundMessage,
  sessionKey: string,
  app: App,
): Promise<{ readonly draft: OutboundDraft; readonly file: OutboundDraft | null }> {
  const whole = withParts(message, app);
  if (whole.parts.length <= MOST_PARTS) return { draft: whole, file: null };
  const { text } = whole.message;
  const folder = app.media.folder(sessionKey);
  // Always the same path, because the end of a turn may be written once more after a crash.
  const path = join(folder, `${message.id.replaceAll(/\W/gu, '-')}-${NAME}`);
  await ensureDirectory(folder);
  await replaceDurable(path, text);
  const size = Buffer.byteLength(text);
  const file: Media = { kind: 'document', mediaType: 'text/markdown', path, name: NAME, size };
  const sent: OutboundMessage = { ...whole.message, id: `${message.id}:file`, kind: 'part', text: '', media: [file] };
  return { draft: beginning(whole, app), file: { message: sent, parts: [] } };
}

/** As many whole lines as fit in ten messages, and a sentence that says where the rest is. */
function beginning({ message, parts }: OutboundDraft, app: App): OutboundDraft {
  const { text } = message;
  let length = Math.floor((text.length * (MOST_PARTS - 1)) / parts.length);
  for (;;) {
    const head = cut(text, length);
    const lines = head.slice(0, head.lastIndexOf('\n') + 1).trimEnd();
    const shown = lines === '' ? head : lines;
    const draft = withParts({ ...message, text: `${shown}${closingFence(shown)}\n\n${GOES_ON}` }, app);
    if (draft.parts.length <= MOST_PARTS || length === 0) return draft;
    length = Math.floor(length / 2);
  }
}

/** The line that closes the code block in which a text ends; empty outside of one. */
function closingFence(text: string): string {
  let open = '';
  for (const line of text.split('\n')) {
    const fence = /^ {0,3}(?<fence>`{3,}|~{3,})/u.exec(line)?.groups?.['fence'] ?? '';
    if (open === '') open = fence;
    else if (fence.startsWith(open) && line.trim() === fence) open = '';
  }
  return open === '' ? '' : `\n${open}`;
}

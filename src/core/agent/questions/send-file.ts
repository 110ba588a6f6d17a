import type { InboundMessage } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import { deadline, sleep } from '../../util/clock.ts';
import { chatOf } from '../outgoing.ts';

/** For a file to be with its platform. */
const WAIT_MS = 60_000;
const LOOK_MS = 200;

/**
 * Sends what is too long for a question as a file in front of it. Resolves when it was delivered, or with the reason why it
 * cannot be.
 */
export async function sendFile(
  { channels, media, journal: { outbox }, clock }: App,
  chat: InboundMessage,
  { id, name, text }: { readonly id: string; readonly name: string; readonly text: string },
  signal: AbortSignal,
): Promise<{ readonly problem: string } | null> {
  if (channels.manager.channel(chat.channel)?.capabilities.media !== true) {
    return { problem: `the channel ${chat.channel} cannot carry files` };
  }
  const bytes = Buffer.from(text);
  const path = await media.keep(bytes);
  const file = { kind: 'document', mediaType: 'text/plain', path, name, size: bytes.byteLength } as const;
  const expiresAt = clock.now() + WAIT_MS;
  const message = {
    id,
    ...chatOf(chat),
    kind: 'approval',
    text: '',
    media: [file],
    expiresAt,
    metadata: {},
  } as const;
  await outbox.enqueue([message]);
  using limit = deadline(clock, WAIT_MS, 'sending the file');
  while (!limit.signal.aborted) {
    const state = outbox.stateOf(id);
    if (state === 'delivered') return null;
    if (state === undefined || state === 'dead' || state === 'expired') break;
    await sleep(clock, LOOK_MS, AbortSignal.any([signal, limit.signal])).catch(() => signal.throwIfAborted());
  }
  return { problem: 'the file with it could not be sent' };
}

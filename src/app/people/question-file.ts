import { chatOf } from '../../agent/outgoing.ts';
import type { QuestionPorts } from '../../agent/questions/questions.ts';
import type { ChannelManager } from '../../channels/manager.ts';
import type { Outbox } from '../../journal/outbox.ts';
import type { MediaStore } from '../../storage/media.ts';
import { deadline, sleep, type Clock } from '../../util/clock.ts';

/** For a file to be with its platform. */
const WAIT_MS = 60_000;
const LOOK_MS = 200;

interface FilePorts {
  readonly manager: Pick<ChannelManager, 'channel'>;
  readonly media: Pick<MediaStore, 'keep'>;
  readonly outbox: Pick<Outbox, 'enqueue' | 'stateOf'>;
  readonly clock: Clock;
}

/** Sends what is too long for a question as a file in front of it; the question is asked when the file is there. */
export function questionFiles({ manager, media, outbox, clock }: FilePorts): QuestionPorts['attach'] {
  return async (chat, { id, name, text }, signal) => {
    if (manager.channel(chat.channel)?.capabilities.media !== true) {
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
  };
}

import { closedText } from '../../agent/questions/text.ts';
import { RESEND_MARK, type Outlets } from '../../channels/delivery/next-part.ts';
import type { Outbox } from '../../journal/outbox.ts';
import { questionId } from '../../journal/questions.ts';
import { deadline, sleep, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';

const EDIT_DEADLINE_MS = 10_000;
const LOOK_AGAIN_MS = [500, 1_500, 4_000];

interface CloserPorts {
  readonly outbox: Pick<Outbox, 'lastSent'>;
  readonly manager: Pick<Outlets, 'outlet'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Takes the buttons off a question in a chat, and how to answer it, and writes under it what became of it, where the
 * platform can. It is for the eye alone: a button that stays is answered with the same words, so an edit is not tried twice.
 */
export function questionCloser({ outbox, manager, clock, log }: CloserPorts): (callId: string, words: string) => void {
  const close = async (callId: string, words: string): Promise<void> => {
    const id = questionId(callId);
    let sent = outbox.lastSent(id);
    // A quick person presses before it is recorded that the question was sent.
    for (const wait of LOOK_AGAIN_MS) {
      if (sent !== undefined) break;
      await sleep(clock, wait);
      sent = outbox.lastSent(id);
    }
    if (sent === undefined) return;
    const { message, part } = sent;
    const channel = manager.outlet(message.channel);
    if (typeof channel === 'string' || channel.edit === undefined) return;
    const [text = part.text, ...more] = channel.render(closedText(message, words));
    // What was sent a second time keeps saying so.
    const mark = part.resends > 0 && channel.settlesResends !== true ? RESEND_MARK : '';
    using limit = deadline(clock, EDIT_DEADLINE_MS, 'Closing a question');
    await channel.edit(
      {
        messageId: message.id,
        kind: message.kind,
        chatId: message.chatId,
        ...(message.threadId === undefined ? {} : { threadId: message.threadId }),
        // Of a longer one only the last part had buttons.
        text: mark + (more.at(-1) ?? text),
        media: [],
        nonce: part.nonce,
        platformId: part.platformId,
      },
      limit.signal,
    );
  };
  return (callId, words) => {
    close(callId, words).catch((error: unknown) =>
      log.debug('approvals: a question could not be closed in its chat', { call: callId, reason: errorMessage(error) }),
    );
  };
}

import { RESEND_MARK } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import { questionId } from '../../journal/questions.ts';
import { deadline, sleep } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { closedText } from './text.ts';

const EDIT_DEADLINE_MS = 10_000;
const LOOK_AGAIN_MS = [500, 1_500, 4_000];

/**
 * Takes the buttons off a question in a chat, and how to answer it, and writes under it what became of it, where the
 * platform can. It is for the eye alone: a button that stays is answered with the same words, so an edit is not tried twice.
 * Never throws.
 */
export function closeQuestion(app: App, callId: string, words: string): void {
  close(app, callId, words).catch((error: unknown) =>
    app.log.debug('approvals: a question could not be closed in its chat', {
      call: callId,
      reason: errorMessage(error),
    }),
  );
}

async function close({ journal: { outbox }, channels, clock }: App, callId: string, words: string): Promise<void> {
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
  const channel = channels.manager.outlet(message.channel);
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
}

import { FROM, ONLY_TO, sessionKeyOf, type OutboundMessage } from './messages.ts';

/**
 * The channel of texts that wait to be spoken. A message to it names as its chat the one that gets the voice message, so that it
 * is kept, tried again and made once like everything in the outbox, and no chat waits for it.
 */
export const SPEECH_CHANNEL = 'text-to-speech';

/** Asks for a message to be spoken in its chat as well. Null: it is for one person's eyes alone, or says nothing. */
export function spokenToo(message: OutboundMessage): OutboundMessage | null {
  const { id, text, turnId, expiresAt, metadata } = message;
  if (metadata[ONLY_TO] !== undefined || text.trim() === '') return null;
  const from = metadata[FROM];
  return {
    id: `${id}:voice`,
    channel: SPEECH_CHANNEL,
    chatId: sessionKeyOf(message),
    kind: 'part',
    text,
    media: [],
    ...(turnId === undefined ? {} : { turnId }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    metadata: from === undefined ? {} : { [FROM]: from },
  };
}

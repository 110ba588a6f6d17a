import { sessionKeyOf, type InboundDraft, type InboundMessage } from '../../src/core/bus/messages.ts';

/** A message as a channel hands it in; everything a test does not care about has a plain value. */
export function inboundDraft(overrides: Partial<InboundDraft> = {}): InboundDraft {
  return {
    channel: 'telegram',
    account: 'bot',
    chatId: '1',
    chatType: 'direct',
    sender: { id: '1', name: 'Ada', isBot: false },
    role: 'owner',
    text: 'hello',
    media: [],
    mentioned: true,
    context: [],
    receivedAt: 1_700_000_000_000,
    externalId: `m:${(counter += 1)}`,
    origin: 'user',
    untrusted: false,
    metadata: {},
    ...overrides,
  };
}

/** The same as the bus passes it on. */
export function inboundMessage(overrides: Partial<InboundMessage> = {}): InboundMessage {
  const draft = inboundDraft(overrides);
  return { id: `in-${draft.externalId}`, sessionKey: sessionKeyOf(draft), ...draft, ...overrides };
}

let counter = 0;

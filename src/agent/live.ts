import type { MessageBus } from '../bus/bus.ts';
import type { InboundMessage, OutboundEvent } from '../bus/messages.ts';

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type LiveEvent = DistributiveOmit<
  OutboundEvent,
  'channel' | 'chatId' | 'threadId' | 'sessionKey' | 'turnId' | 'sequence'
>;

/** Tells whoever watches a chat what its turn is doing. */
export type Live = (event: LiveEvent) => void;

export function createLive(bus: MessageBus, turnId: string, target: InboundMessage): Live {
  let sequence = 0;
  const where = {
    channel: target.channel,
    chatId: target.chatId,
    ...(target.threadId === undefined ? {} : { threadId: target.threadId }),
    sessionKey: target.sessionKey,
    turnId,
  };
  return (event) => {
    sequence += 1;
    bus.emit({ ...where, sequence, ...event });
  };
}

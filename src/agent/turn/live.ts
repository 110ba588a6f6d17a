import type { MessageBus } from '../../bus/bus.ts';
import type { InboundMessage, OutboundEvent, TurnSummary } from '../../bus/messages.ts';
import type { Redact } from '../../security/redact/redact.ts';
import { noUsage } from '../../util/token-usage.ts';
import { isSelfStarted } from '../joining.ts';
import { subagentOf } from '../subagents/task.ts';

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type LiveEvent = DistributiveOmit<
  OutboundEvent,
  'channel' | 'chatId' | 'threadId' | 'sessionKey' | 'turnId' | 'sequence'
>;

/** Tells whoever watches a chat what its turn is doing; of one that may end without a word only its end. */
export type Live = (event: LiveEvent) => void;

/** Secrets are taken out of all that is shown; whoever tells of a text that still grows has taken them out of that. */
export function createLive(
  bus: MessageBus,
  { turnId, target, redact }: { readonly turnId: string; readonly target: InboundMessage; readonly redact: Redact },
): Live {
  let sequence = 0;
  const where = {
    channel: target.channel,
    chatId: target.chatId,
    ...(target.threadId === undefined ? {} : { threadId: target.threadId }),
    sessionKey: target.sessionKey,
    turnId,
  };
  const isOverheard = target.origin === 'user' && !target.mentioned;
  const isQuiet = isOverheard || isSelfStarted(target) || subagentOf(target) !== null;
  return (event) => {
    if (isQuiet && event.type !== 'turn-end') return;
    sequence += 1;
    bus.emit({ ...where, sequence, ...clean(event, redact) });
  };
}

export interface TurnEnded {
  readonly turnId: string;
  readonly outcome: TurnSummary['outcome'];
  readonly text: string;
}

/** Tells whoever waits for one of these messages that its turn is over without the model having ended it just now. */
export function emitTurnEnd(
  messages: readonly InboundMessage[],
  { turnId, outcome, text }: TurnEnded,
  { bus, redact }: { readonly bus: MessageBus; readonly redact: Redact },
): void {
  for (const message of messages) {
    createLive(bus, { turnId, target: message, redact })({
      type: 'turn-end',
      answers: [message.externalId],
      result: {
        outcome,
        text,
        isError: outcome === 'failed',
        model: null,
        usage: noUsage,
        costUsd: null,
        durationMs: 0,
      },
    });
  }
}

function clean(event: LiveEvent, redact: Redact): LiveEvent {
  switch (event.type) {
    case 'status':
      return { ...event, text: redact(event.text) };
    case 'tool-start':
    case 'tool-end':
      return { ...event, title: redact(event.title) };
    case 'turn-end':
      return { ...event, result: { ...event.result, text: redact(event.result.text) } };
    case 'text':
    case 'reasoning':
    case 'typing':
      return event;
  }
}

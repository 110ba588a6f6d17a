import type { App } from '../../app.ts';
import type { InboundMessage, OutboundEvent, TurnSummary } from '../../bus/messages.ts';
import type { Redact } from '../../security/redact/redact.ts';
import { noUsage } from '../../util/token-usage.ts';

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type LiveEvent = DistributiveOmit<
  OutboundEvent,
  'channel' | 'chatId' | 'threadId' | 'sessionKey' | 'turnId' | 'sequence'
>;

/** Publishes the progress of a turn to clients that watch its chat. For a turn that may stay silent, only `turn-end` is published. */
export type Live = (event: LiveEvent) => void;

/** Makes a `Live` for a turn; `isQuiet`: one that may stay silent. It redacts secrets, except in `text` and `reasoning`, which the caller must have redacted. */
export function createLive(
  { bus, redact }: App,
  {
    turnId,
    target,
    isQuiet = false,
  }: { readonly turnId: string; readonly target: InboundMessage; readonly isQuiet?: boolean },
): Live {
  let sequence = 0;
  const where = {
    channel: target.channel,
    chatId: target.chatId,
    ...(target.threadId === undefined ? {} : { threadId: target.threadId }),
    sessionKey: target.sessionKey,
    turnId,
  };
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

/** Publishes `turn-end` for messages that a command, /stop or recovery ended, for clients that wait for one of them. */
export function emitTurnEnd(messages: readonly InboundMessage[], { turnId, outcome, text }: TurnEnded, app: App): void {
  for (const message of messages) {
    createLive(app, { turnId, target: message })({
      type: 'turn-end',
      answers: [message.externalId],
      result: {
        outcome,
        text,
        isError: outcome === 'failed',
        errorKind: outcome === 'failed' ? 'other' : outcome === 'stopped' ? 'aborted' : null,
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
    case 'tool-start': {
      const { files } = event;
      return {
        ...event,
        title: redact(event.title),
        ...(files === undefined ? {} : { files: files.map((file) => redact(file)) }),
      };
    }
    case 'tool-end': {
      const { refused, problem, diff } = event;
      return {
        ...event,
        title: redact(event.title),
        ...(refused === undefined ? {} : { refused: redact(refused) }),
        ...(problem === undefined ? {} : { problem: redact(problem) }),
        ...(diff === undefined ? {} : { diff: redact(diff) }),
      };
    }
    case 'turn-end':
      return { ...event, result: { ...event.result, text: redact(event.result.text) } };
    case 'text':
    case 'reasoning':
    case 'typing':
      return event;
  }
}

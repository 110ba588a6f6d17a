import { outboundTo } from '../agent/outgoing.ts';
import type { MessageBus } from '../bus/bus.ts';
import type { Button } from '../bus/messages.ts';
import type { Journal } from '../journal/journal.ts';
import { errorMessage } from '../util/errors.ts';
import type { Redact } from '../security/redact/redact.ts';
import type { ChatAddress } from '../tools/tool.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';

/**
 * Queues a notice to the owner, in the direct chat in which they wrote last; a notice with the same id is queued once. False: no one
 * knows yet where the owner can be told.
 */
export type TellOwner = (id: string, text: string, button?: Button) => Promise<boolean>;

interface TellOwnerBase {
  readonly clock: Clock;
  readonly redact: Redact;
  readonly log: Logger;
}

interface TellOwnerPorts {
  readonly journal: Pick<Journal, 'questions'>;
  readonly bus: Pick<MessageBus, 'publishOutbound'>;
  /** Where the owner is told who has not written yet. @default nowhere */
  readonly fallback?: ChatAddress | undefined;
}

/** Rejects when the journal does not take the notice. */
export function createTellOwner(
  { clock, redact }: Pick<TellOwnerBase, 'clock' | 'redact'>,
  { journal, bus, fallback }: TellOwnerPorts,
): TellOwner {
  return async (id, text, button) => {
    const chat = journal.questions.ownersChat();
    const notice = { id, kind: 'notice', text: redact(text) } as const;
    const buttons = button === undefined ? {} : { buttons: [[button]] };
    if (chat !== undefined) await bus.publishOutbound({ ...outboundTo(chat, notice, clock.now()), ...buttons });
    else if (fallback === undefined) return false;
    else await bus.publishOutbound({ ...fallback, ...notice, media: [], metadata: {}, ...buttons });
    return true;
  };
}

/** For what is told by the way: a notice that the journal does not take is logged, and false. */
export function createTryTellOwner(base: TellOwnerBase, ports: TellOwnerPorts): TellOwner {
  const tellOwner = createTellOwner(base, ports);
  return (id, text, button) =>
    tellOwner(id, text, button).catch((error: unknown) => {
      base.log.warn('notice to the owner not queued', { id, reason: errorMessage(error) });
      return false;
    });
}

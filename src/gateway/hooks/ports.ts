import type { MessageBus } from '../../bus/bus.ts';
import type { Role } from '../../bus/messages.ts';
import type { Clock } from '../../util/clock.ts';
import type { IdFactory } from '../../util/ids.ts';
import type { Logger } from '../../util/log.ts';

/** One webhook, as it is configured. */
export interface HookSettings {
  readonly secret: string;
  /** Null: as the webhook. */
  readonly session: string | null;
  /** Null: the whole body. */
  readonly template: string | null;
  /** Null: the answer is sent nowhere. */
  readonly chat: string | null;
  readonly role: Role;
}

/** What webhooks need of the modules above. */
export interface HookPorts {
  /** As they are configured now. */
  readonly hooks: () => Readonly<Record<string, HookSettings>>;
  readonly bus: Pick<MessageBus, 'publishInbound'>;
  /** When the message with this key came in, milliseconds since 1970; undefined: it did not, or it is no longer known. */
  readonly receivedAt: (key: {
    readonly channel: string;
    readonly account: string;
    readonly chatId: string;
    readonly externalId: string;
  }) => number | undefined;
  readonly newId: IdFactory;
  readonly clock: Clock;
  readonly log: Logger;
}

import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { Journal } from '../../journal/journal.ts';
import { atLeast } from '../../security/access/access.ts';
import type { HookRunner } from '../hooks/hooks.ts';

/** An edit that waits, and the message that it corrects, with its new words. */
export interface Correction {
  readonly edit: InboundMessage;
  readonly message: InboundMessage;
}

/** Of a session's waiting messages so many are looked at. */
const MOST_WAITING = 64;

/**
 * Edits of messages that a turn has taken. Until the model has read a message its writer may correct it; an edit that no
 * hook would let in stays a message of its own, which is refused when its turn comes.
 */
export class Corrections {
  readonly #ports: { readonly journal: Journal; readonly hooks: HookRunner };
  readonly #turn: { readonly sessionKey: string; readonly role: Role };
  readonly #admitted = new Map<string, InboundMessage | null>();

  constructor(
    ports: { readonly journal: Journal; readonly hooks: HookRunner },
    turn: { readonly sessionKey: string; readonly role: Role },
  ) {
    this.#ports = ports;
    this.#turn = turn;
  }

  /** Those of these messages that wait now, oldest first. */
  async of(messages: readonly InboundMessage[]): Promise<readonly Correction[]> {
    if (messages.length === 0) return [];
    const { sessionKey, role } = this.#turn;
    const found: Correction[] = [];
    for (const edit of this.#ports.journal.inbox.waiting(sessionKey, MOST_WAITING)) {
      const old = messages.find((message) => isEditOf(edit, message));
      if (old === undefined || !atLeast(edit.role, role)) continue;
      const message = await this.#admit(edit, old);
      if (message !== null) found.push({ edit, message });
    }
    return found;
  }

  async #admit(edit: InboundMessage, old: InboundMessage): Promise<InboundMessage | null> {
    const known = this.#admitted.get(edit.id);
    if (known !== undefined) return known;
    const corrected = { ...old, text: edit.edits?.text ?? edit.text };
    const decision = await this.#ports.hooks.decide('admit', corrected, (hook, value) => hook.admit?.(value));
    const admitted = 'denied' in decision ? null : decision.value;
    this.#admitted.set(edit.id, admitted);
    return admitted;
  }
}

/** Whether somebody corrected with it what they wrote themselves. */
function isEditOf(edit: InboundMessage, message: InboundMessage): boolean {
  return (
    edit.edits?.externalId === message.externalId &&
    edit.channel === message.channel &&
    edit.account === message.account &&
    edit.chatId === message.chatId &&
    edit.sender.id === message.sender.id
  );
}

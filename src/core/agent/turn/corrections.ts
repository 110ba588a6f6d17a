import type { App } from '../../app.ts';
import type { InboundMessage, Role } from '../../bus/messages.ts';
import { atLeast } from '../../security/access/access.ts';
import type { Joining } from './steering.ts';

/** Most waiting messages of a session that are searched for edits. */
const MOST_WAITING = 64;

/**
 * Finds waiting edits of the messages that a turn answers, so that a person may correct a message while the turn runs. An
 * edit that a hook denies is not returned; it keeps waiting and is refused when its own turn begins.
 */
export class Corrections {
  readonly #app: App;
  readonly #turn: { readonly sessionKey: string; readonly role: Role };
  /** `inbox.arrivals` at the last search that found no edit: until it changes, no search is needed. */
  #noneAt = -1;

  constructor(app: App, turn: { readonly sessionKey: string; readonly role: Role }) {
    this.#app = app;
    this.#turn = turn;
  }

  /** Edits of messages that are not on the tape yet. `admitted` is the old message with the new text. */
  async inPlaceOf(messages: readonly InboundMessage[]): Promise<readonly Joining[]> {
    return await this.#find(messages, (edit, old) => ({ ...old, text: edit.edits?.text ?? edit.text }));
  }

  /** Edits of messages that are on the tape already. `admitted` is the edit itself, which follows as a message of its own. */
  async after(messages: readonly InboundMessage[]): Promise<readonly Joining[]> {
    return await this.#find(messages, (edit) => edit);
  }

  /** The edits that wait now, oldest first. */
  async #find(
    messages: readonly InboundMessage[],
    corrected: (edit: InboundMessage, old: InboundMessage) => InboundMessage,
  ): Promise<readonly Joining[]> {
    const { hooks } = this.#app;
    const { inbox } = this.#app.journal;
    const { sessionKey, role } = this.#turn;
    const { arrivals } = inbox;
    if (messages.length === 0 || arrivals === this.#noneAt) return [];
    const found: Joining[] = [];
    for (const message of inbox.waiting(sessionKey, MOST_WAITING)) {
      const old = messages.find((one) => isEditOf(message, one));
      if (old === undefined || !atLeast(message.role, role)) continue;
      const admission = await hooks.admit(corrected(message, old));
      if ('denied' in admission || !atLeast(admission.value.role, role)) continue;
      found.push({ message, admitted: admission.value });
    }
    if (found.length === 0) this.#noneAt = arrivals;
    return found;
  }
}

/** Whether `edit` corrects `message`: the same sender edited it in the same chat. */
function isEditOf(edit: InboundMessage, message: InboundMessage): boolean {
  return (
    edit.edits?.externalId === message.externalId &&
    edit.channel === message.channel &&
    edit.account === message.account &&
    edit.chatId === message.chatId &&
    edit.sender.id === message.sender.id
  );
}

import type { App } from '../../app.ts';
import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { Origin } from '../../bus/origins.ts';
import { atLeast } from '../../security/access/access.ts';
import { mayJoin } from '../joining.ts';

const STEER_PER_DRAIN = 3;
const STEER_DRAINS = 5;

/** A message that may join a running turn. */
export interface Joining {
  /** The message as the journal has it. */
  readonly message: InboundMessage;
  /** The message after the `admit` hooks of plugins, as the model reads it. */
  readonly admitted: InboundMessage;
}

/** The turn that messages may join. */
interface Joined {
  readonly sessionKey: string;
  readonly role: Role;
  readonly first: InboundMessage;
  readonly origin: Origin;
}

/**
 * Finds the waiting messages that may join a running turn, in order of arrival. The search ends at the first message that
 * may not join (a hook refuses it or lowers its role): that one and all later ones wait for a turn of their own.
 */
export class Steering {
  readonly #app: App;
  readonly #turn: Joined;
  #drains = 0;

  constructor(app: App, turn: Joined) {
    this.#app = app;
    this.#turn = turn;
  }

  async next(): Promise<readonly Joining[]> {
    if (this.#drains >= STEER_DRAINS || this.#turn.origin.isAsked !== true) return [];
    const joining: Joining[] = [];
    for (const message of this.#app.journal.inbox.waiting(this.#turn.sessionKey, STEER_PER_DRAIN)) {
      const admitted = await this.#admit(message);
      if (admitted === null) break;
      joining.push({ message, admitted });
    }
    if (joining.length > 0) this.#drains += 1;
    return joining;
  }

  async #admit(message: InboundMessage): Promise<InboundMessage | null> {
    const { first, role } = this.#turn;
    if (!mayJoin(first, message) || !atLeast(message.role, role)) return null;
    const admission = await this.#app.hooks.admit(message);
    if ('denied' in admission || !atLeast(admission.value.role, role)) return null;
    return admission.value;
  }
}

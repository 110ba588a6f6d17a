import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import type { Usage } from '../../util/token-usage.ts';
import type { Spender } from '../context/budget.ts';
import type { ChosenModel } from '../turn/current-turn.ts';
import { ToolChoices } from './structured.ts';

/** A model call, or several, outside of any turn. */
export interface SideCall {
  /** The id under which their usage is summed. */
  readonly id: string;
  readonly sessionKey: string;
  readonly role: Role;
  /** The message of the person who waits for it; absent when the program started it by itself. */
  readonly message?: InboundMessage;
}

/** Checks model calls outside of turns against the budgets, and counts their usage by purpose. */
export class SideCalls {
  readonly choices = new ToolChoices();
  readonly #app: App;
  readonly #source: NonNullable<Spender['source']>;

  constructor(app: App, source: NonNullable<Spender['source']>) {
    this.#app = app;
    this.#source = source;
  }

  /** Null if the next call is within all budgets; else a sentence that says which budget is used up. */
  refusal(call: SideCall): Promise<string | null> {
    return this.#app.budget.refusal(this.#spender(call));
  }

  /** Counts the usage of a call. */
  async count(call: SideCall, { providerName: provider, model }: ChosenModel, usage: Usage): Promise<void> {
    if (usage.input + usage.output === 0) return;
    const { bounds, budget } = this.#app;
    await bounds.warm({ provider, model });
    budget.record(this.#spender(call), { provider, model }, usage);
  }

  #spender({ id, sessionKey, role, message }: SideCall): Spender {
    const messages = message === undefined ? [] : [message];
    return { turnId: id, sessionKey, role, messages, entries: [], source: this.#source };
  }
}

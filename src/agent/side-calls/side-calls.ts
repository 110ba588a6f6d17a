import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { ModelName } from '../../providers/provider.ts';
import type { Usage } from '../../util/token-usage.ts';
import type { Budget, Spender } from '../context/budget.ts';
import type { ChosenModel } from '../turn/current-turn.ts';

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
  readonly #budget: Pick<Budget, 'refusal' | 'record'>;
  readonly #prepare: (model: ModelName) => Promise<void>;
  readonly #source: NonNullable<Spender['source']>;

  /** `prepare` loads the price of a model; it must not throw. */
  constructor(ports: {
    readonly budget: Pick<Budget, 'refusal' | 'record'>;
    readonly prepare: (model: ModelName) => Promise<void>;
    /** @default 'memory' */
    readonly source?: NonNullable<Spender['source']>;
  }) {
    this.#budget = ports.budget;
    this.#prepare = ports.prepare;
    this.#source = ports.source ?? 'memory';
  }

  /** Null if the next call is within all budgets; else a sentence that says which budget is used up. */
  refusal(call: SideCall): Promise<string | null> {
    return this.#budget.refusal(this.#spender(call));
  }

  /** Counts the usage of a call. */
  async count(call: SideCall, { providerName: provider, model }: ChosenModel, usage: Usage): Promise<void> {
    if (usage.input + usage.output === 0) return;
    await this.#prepare({ provider, model });
    this.#budget.record(this.#spender(call), { provider, model }, usage);
  }

  #spender({ id, sessionKey, role, message }: SideCall): Spender {
    const messages = message === undefined ? [] : [message];
    return { turnId: id, sessionKey, role, messages, entries: [], source: this.#source };
  }
}

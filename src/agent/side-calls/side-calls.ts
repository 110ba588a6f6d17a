import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { ModelName } from '../../providers/provider.ts';
import type { Usage } from '../../util/token-usage.ts';
import type { Budget, Spender } from '../context/budget.ts';
import type { ChosenModel } from '../turn/current-turn.ts';

/** Model calls that belong to no turn. */
export interface SideCall {
  /** What they are counted under together. */
  readonly id: string;
  readonly sessionKey: string;
  readonly role: Role;
  /** The message of the person who waits for it; without one the program started it by itself. */
  readonly message?: InboundMessage;
}

/** Holds the calls that the program makes by itself to the budgets, and counts them under what they are for. */
export class SideCalls {
  readonly #budget: Pick<Budget, 'refusal' | 'record'>;
  readonly #prepare: (model: ModelName) => Promise<void>;
  readonly #source: NonNullable<Spender['source']>;

  /** `prepare` loads what is known of a model's price; it never throws. */
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

  /** Null when the next call is within all budgets; else the sentence that says which is used up. */
  refusal(call: SideCall): Promise<string | null> {
    return this.#budget.refusal(this.#spender(call));
  }

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

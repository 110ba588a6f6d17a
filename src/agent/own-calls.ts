import type { InboundMessage, Role } from '../bus/messages.ts';
import type { ModelName } from '../providers/provider.ts';
import type { Usage } from '../util/usage.ts';
import type { Budget, Spender } from './budget.ts';
import type { ChosenModel } from './turn-context.ts';

/** Model calls that belong to no turn. */
export interface OwnCall {
  /** What they are counted under together. */
  readonly id: string;
  readonly sessionKey: string;
  readonly role: Role;
  /** The message of the person who waits for it; without one the program started it by itself. */
  readonly message?: InboundMessage;
}

/** Holds the calls that the program makes for its memory to the budgets, and counts them as `memory`. */
export class OwnCalls {
  readonly #budget: Pick<Budget, 'refusal' | 'record'>;
  readonly #prepare: (model: ModelName) => Promise<void>;

  /** `prepare` loads what is known of a model's price; it never throws. */
  constructor(ports: {
    readonly budget: Pick<Budget, 'refusal' | 'record'>;
    readonly prepare: (model: ModelName) => Promise<void>;
  }) {
    this.#budget = ports.budget;
    this.#prepare = ports.prepare;
  }

  /** Null when the next call is within all budgets; else the sentence that says which is used up. */
  refusal(call: OwnCall): Promise<string | null> {
    return this.#budget.refusal(spenderOf(call));
  }

  async count(call: OwnCall, { providerName: provider, model }: ChosenModel, usage: Usage): Promise<void> {
    if (usage.input + usage.output === 0) return;
    await this.#prepare({ provider, model });
    this.#budget.record(spenderOf(call), { provider, model }, usage);
  }
}

function spenderOf({ id, sessionKey, role, message }: OwnCall): Spender {
  return {
    turnId: id,
    sessionKey,
    role,
    messages: message === undefined ? [] : [message],
    entries: [],
    source: 'memory',
  };
}

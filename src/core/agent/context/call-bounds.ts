import type { Role } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import { ContextWindows } from '../../providers/context-window-registry.ts';
import { Pricing } from '../../providers/pricing.ts';
import type { ModelError, ModelName, ModelRequest, ToolSpec } from '../../providers/provider.ts';
import type { Session } from '../../session/session.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { Usage } from '../../util/token-usage.ts';
import { Budget, costOf, type Spender } from './budget.ts';
import { ContextWindow, type Outline } from './fit.ts';
import type { WindowSize } from './window-size.ts';
import { PrefixWatch } from './prefix-watch.ts';
import type { TurnFacts } from '../hooks/hooks.ts';

/** An attempt of a model call that failed, and what it used all the same. */
export interface FailedAttempt {
  readonly by: ModelName;
  readonly usage: Usage;
}

/** The turn that asks a model. */
interface AskingTurn {
  readonly facts: TurnFacts;
  readonly role: Role;
  readonly session: Session;
  readonly chosen: { readonly providerName: string; readonly model: string };
  readonly system: readonly string[];
  readonly files: readonly string[];
  readonly tools: readonly ToolSpec[];
  /** Rebuilds the system prompt and the tools for the model's window, which a refusal has just named. True if its size changed. */
  readonly resize: () => Promise<boolean>;
}

/** The bounds of each model call of a turn: budgets, the model's context window, the cached prefix. */
export class CallBounds {
  readonly #app: App;
  readonly #pricing: Pricing;
  readonly #prefix: PrefixWatch;
  /** Ids of turns that were trimmed after the model refused a request, and have had no answer since. */
  readonly #tightened = new RecentMap<string, true>(1024);

  /** Ids of turns that lost the whole conversation before them, which their answer has to say. */
  readonly #alone = new RecentMap<string, true>(1024);
  /** Sessions whose person was told this; in a small window it happens again and again. */
  readonly #told = new RecentMap<string, true>(1024);

  constructor(app: App, pricing: Pricing) {
    this.#app = app;
    this.#pricing = pricing;
    this.#prefix = new PrefixWatch(app.log);
  }

  /** Loads the window and price of a model before its first call. Never throws. */
  async warm(name: ModelName): Promise<void> {
    this.#app.contextWindow.prepare(name);
    await this.#pricing.prepare(name);
  }

  /** How much this model reads at once. Never throws. */
  async size(name: ModelName): Promise<WindowSize> {
    return await this.#app.contextWindow.size(name);
  }

  /**
   * Call before a request is built. Returns the most tokens that the answer may have, or a sentence that says which
   * budget is used up. May trim the session; throws when its tape cannot be written.
   */
  async before(turn: AskingTurn): Promise<{ readonly maxOutputTokens: number } | { readonly refused: string }> {
    const { budget, contextWindow: context } = this.#app;
    const expected = turn.role === 'guest' ? context.estimate(this.#outlineOf(turn)) : 0;
    const refused = await budget.refusal(spenderOf(turn), expected);
    if (refused !== null) return { refused };
    const others = othersIn(turn);
    const maxOutputTokens = await context.fit(this.#outlineOf(turn));
    this.#noteLoss(turn, others);
    return { maxOutputTokens };
  }

  /** Call when the request that `before` allowed is over, whatever became of it. */
  over({ facts }: AskingTurn): void {
    this.#app.budget.release(facts.turnId);
  }

  /** Call just before a request is sent. */
  sending(turn: AskingTurn, request: ModelRequest): void {
    const { session, chosen, files } = turn;
    this.#prefix.check({ session, modelRef: `${chosen.providerName}/${chosen.model}`, files, request });
    // Loads what is not known yet while the model works.
    this.#app.contextWindow.prepare(nameOf(turn));
    void this.#pricing.prepare(nameOf(turn));
  }

  /** Call after an answer, before it is written to the tape. */
  async answered(turn: AskingTurn, by: ModelName, usage: Usage | null): Promise<void> {
    this.#tightened.delete(turn.facts.turnId);
    if (usage === null) return;
    await this.#pricing.prepare(by);
    if (usage.estimated !== true) this.#app.contextWindow.observe(this.#outlineOf(turn), by, usage);
    this.#app.budget.record(spenderOf(turn), by, usage);
  }

  /** Counts an attempt that gave no answer but costs money, because it failed midway or was stopped. Never throws. */
  async failed(turn: AskingTurn, { by, usage }: FailedAttempt): Promise<void> {
    await this.#pricing.prepare(by);
    this.#app.budget.record(spenderOf(turn), by, usage);
  }

  /**
   * Call when the model refused a request as too long, with the window that it named. True if the next request is shorter,
   * because the session was trimmed or the prompt and the tools are made for a smaller window.
   */
  async tighten(turn: AskingTurn, { window }: Pick<ModelError, 'window'>): Promise<boolean> {
    const { turnId } = turn.facts;
    if (this.#tightened.get(turnId) === true) return false;
    this.#tightened.set(turnId, true);
    const others = othersIn(turn);
    if (window !== undefined) this.#app.contextWindow.learn(this.#outlineOf(turn), window);
    const isFewer = window !== undefined && (await turn.resize());
    const isTrimmed = await this.#app.contextWindow.tighten(this.#outlineOf(turn));
    this.#noteLoss(turn, others);
    return isTrimmed || isFewer;
  }

  /** One sentence for the person if a trim in this turn left nothing of the conversation but the turn itself; null otherwise. */
  loss({ facts, chosen }: AskingTurn): string | null {
    if (this.#alone.get(facts.turnId) !== true) return null;
    this.#alone.delete(facts.turnId);
    return `The rest of this conversation no longer fits into the context window of ${chosen.providerName}/${chosen.model}, so I answered from your last message alone. I'm saving a summary of the rest to my memory. A model with a larger window (/model) keeps more.`;
  }

  #noteLoss(turn: AskingTurn, others: boolean): void {
    if (!others || othersIn(turn) || this.#told.get(turn.session.key) === true) return;
    this.#told.set(turn.session.key, true);
    this.#alone.set(turn.facts.turnId, true);
  }

  /** Cost of the turn so far in dollars; null when a price is unknown or no call was made. */
  costOf(turn: AskingTurn): number | null {
    return costOf(this.#app.budget.spent(spenderOf(turn)));
  }

  #outlineOf(turn: AskingTurn): Outline {
    const { session, facts, system, tools } = turn;
    return { session, turnId: facts.turnId, model: nameOf(turn), system, tools };
  }
}

/** Whether the conversation holds more than this turn. */
function othersIn({ session, facts }: AskingTurn): boolean {
  return session.history().messages.some(({ turn }) => turn !== facts.turnId);
}

function nameOf({ chosen }: AskingTurn): ModelName {
  return { provider: chosen.providerName, model: chosen.model };
}

function spenderOf({ facts, role, session }: AskingTurn): Spender {
  return { ...facts, role, entries: session.turn(facts.turnId) };
}

/** Each bound is read from the configuration when it is needed, so that a change counts from the next call on. */
export function createCallBounds(app: App): Pick<App, 'bounds' | 'contextWindow' | 'budget'> {
  const { config, program, models, clock, log } = app;
  const pricing = new Pricing({
    get models() {
      return config.models;
    },
    get providers() {
      return config.providers;
    },
    presets: program.presets,
    log,
  });
  const windows = new ContextWindows({
    pricing,
    get most() {
      return config.agent.contextWindow;
    },
    ask: models.contextWindow,
    learned: models.learned,
    clock,
    log,
  });
  return {
    bounds: new CallBounds(app, pricing),
    contextWindow: new ContextWindow(app, windows),
    budget: new Budget(app, pricing),
  };
}

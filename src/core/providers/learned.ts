import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { countText } from '../util/text.ts';
import type { ModelFact } from '../util/model-fact.ts';
import { RecentMap } from '../util/recent-map.ts';
import type { ModelName } from './provider.ts';
import type { ServerFacts } from './probe-context-window.ts';
import { isForOneCall, nameOfQuirk, quirkNote, type KnownQuirk } from './quirks.ts';

/** Where facts stay over a restart. */
export interface FactKeeper {
  /** Oldest first. */
  all(): readonly ModelFact[];
  keep(fact: ModelFact): Promise<void>;
  /** Removes all facts of a model. */
  forget(model: string): Promise<void>;
}

export interface LearnedFactsOptions {
  readonly clock: Clock;
  readonly log?: Logger;
  /** @default facts end with the process */
  readonly keeper?: FactKeeper;
}

const WINDOW = 'window';
const SERVER = 'server';
const NO_TOOLS: KnownQuirk = 'no tools';

/** A fact as a few words, for people; null for one that tells them nothing. */
export function factText({ name, value }: ModelFact): string | null {
  if (name === SERVER) return null;
  if (name === WINDOW) return `a window of ${countText(Number(value))} tokens`;
  const [row = name, limit] = value.split('=');
  return limit === undefined ? row : `${row}: ${countText(Number(limit))}`;
}

/** Facts about the last 256 models. Another model or version behind the same name begins without them. */
export class LearnedFacts {
  readonly #options: LearnedFactsOptions;
  readonly #untold = new RecentMap<string, string>(256);
  readonly #known = new RecentMap<string, readonly ModelFact[]>(256);

  constructor(options: LearnedFactsOptions) {
    this.#options = options;
    for (const fact of options.keeper?.all() ?? []) this.#put(fact);
  }

  /** All of a model (`provider/model`), oldest first. */
  of(ref: string): readonly ModelFact[] {
    return this.#known.get(ref) ?? [];
  }

  quirks(name: ModelName): readonly KnownQuirk[] {
    return this.of(refOf(name)).flatMap((fact) => (fact.name === WINDOW || fact.name === SERVER ? [] : [fact.value]));
  }

  /** Whether tools reach the model, as far as its server has said. */
  takesTools(name: ModelName): boolean {
    return !this.quirks(name).includes(NO_TOOLS);
  }

  /** Remembers a quirk, in place of one of the same name, unless it belongs to one conversation. */
  learnQuirk(name: ModelName, quirk: KnownQuirk, said = ''): void {
    this.#options.log?.info('model: request changed and repeated', { ...name, quirk, said });
    if (!isForOneCall(quirk)) this.#learn(name, { name: nameOfQuirk(quirk), value: quirk });
  }

  /** The window that a refusal named, tokens; null if none did. */
  window(name: ModelName): number | null {
    const fact = this.of(refOf(name)).find((one) => one.name === WINDOW);
    return fact === undefined ? null : Number(fact.value);
  }

  learnWindow(name: ModelName, tokens: number): void {
    this.#options.log?.info('model: window learned from a refusal', { ...name, tokens });
    this.#learn(name, { name: WINDOW, value: String(tokens) });
  }

  /** Call with what a server says of itself; what was learned of another one is forgotten. */
  served(name: ModelName, { id, hasTools }: ServerFacts): void {
    const before = this.of(refOf(name)).find((fact) => fact.name === SERVER)?.value;
    if (before === id) return;
    if (before !== undefined) {
      this.#options.log?.info('model: another server or model, so what was learned is forgotten', { ...name });
      this.forget(refOf(name));
    }
    this.#learn(name, { name: SERVER, value: id });
    if (hasTools) return;
    this.#learn(name, { name: NO_TOOLS, value: NO_TOOLS });
    this.#untold.set(refOf(name), quirkNote(NO_TOOLS, name.model) ?? '');
  }

  /** Forgets all of a model (`provider/model`). */
  forget(ref: string): void {
    this.#known.delete(ref);
    this.#kept(this.#options.keeper?.forget(ref));
  }

  /** What the person loses because the server can't do it, as one sentence; null if there is nothing or it was told already. */
  takeNote(name: ModelName): string | null {
    const note = this.#untold.get(refOf(name)) ?? null;
    this.#untold.delete(refOf(name));
    return note;
  }

  #learn(name: ModelName, learned: Pick<ModelFact, 'name' | 'value'>): void {
    const fact = { model: refOf(name), ...learned, at: this.#options.clock.now() };
    this.#put(fact);
    this.#kept(this.#options.keeper?.keep(fact));
  }

  #put(fact: ModelFact): void {
    const others = (this.#known.get(fact.model) ?? []).filter(({ name }) => name !== fact.name);
    this.#known.set(fact.model, [...others, fact]);
  }

  #kept(written: Promise<void> | undefined): void {
    written?.catch((error: unknown) =>
      this.#options.log?.warn('model: what was learned could not be kept', { reason: errorMessage(error) }),
    );
  }
}

function refOf({ provider, model }: ModelName): string {
  return `${provider}/${model}`;
}

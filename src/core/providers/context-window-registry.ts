import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import { RecentMap } from '../util/recent-map.ts';
import type { LearnedFacts } from './learned.ts';
import type { Pricing } from './pricing.ts';
import type { ModelName } from './provider.ts';

/** Taken for a model of which nothing is known, tokens. */
const UNKNOWN_WINDOW = 65_536;

/** Tokens. In a smaller window all tools and a conversation do not fit together. */
export const SMALL_WINDOW = 16_384;

/** Tokens. In a smaller window nothing fits. */
export const LEAST_WINDOW = 4_096;

/** No model that a public list knows reads less. */
const SURE_WINDOW = 16_384;

/** A local server may load a model anew with another window. */
const ASKED_FOR_MS = 300_000;

/** Families that the public list knows by price only. */
const FAMILIES: readonly (readonly [RegExp, number])[] = [
  // The demo reads everything.
  [/^scripted$/u, 200_000],
  [/(?:^|\/)claude-/u, 200_000],
  [/(?:^|\/)gemini-/u, 1_048_576],
  [/(?:^|\/)(?:mistral|magistral|devstral|ministral|codestral)-/u, 131_072],
  [/(?:^|\/)(?:meta-)?llama-?(?:3\.[1-3]|4)/iu, 131_072],
  [/(?:^|\/)gpt-oss-/u, 131_072],
  [/(?:^|\/)glm-4\.[5-9]/iu, 131_072],
  [/(?:^|\/)kimi-k2/iu, 131_072],
  [/(?:^|\/)deepseek-(?:v3|v4|chat|reasoner)/iu, 131_072],
];

export interface ContextWindowsOptions {
  readonly pricing: Pricing;
  /** `agent.contextWindow`: no model is given more. */
  readonly most: number | null;
  /** What a server says of its own model; null when it does not. Never throws. */
  readonly ask: (modelRef: string) => Promise<number | null>;
  readonly learned: Pick<LearnedFacts, 'window' | 'learnWindow' | 'takesTools'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Known {
  readonly window: number;
  /** On the monotonic clock. */
  readonly until: number;
}

/** Tokens that the configuration gives a model: `models."<ref>".contextWindow` or `agent.contextWindow`, whichever is smaller; null for neither. */
export function configuredWindow(
  {
    models,
    agent,
  }: {
    readonly models: Readonly<Record<string, { readonly contextWindow?: number | null }>>;
    readonly agent: { readonly contextWindow: number | null };
  },
  modelRef: string,
): number | null {
  const own = Object.hasOwn(models, modelRef) ? (models[modelRef]?.contextWindow ?? null) : null;
  if (own === null || agent.contextWindow === null) return own ?? agent.contextWindow;
  return Math.min(own, agent.contextWindow);
}

/**
 * How much models can read: the smaller one of `models."<ref>".contextWindow` and `agent.contextWindow`, but no more than
 * a local server says that it reads; without them what the server says, the public list, the model's family; else 65,536
 * with one warning that names the key.
 */
export class ContextWindows {
  readonly #options: ContextWindowsOptions;
  readonly #known = new RecentMap<string, Known>(256);
  readonly #warned = new Set<string>();

  constructor(options: ContextWindowsOptions) {
    this.#options = options;
  }

  /**
   * Tokens. Never throws. Where no more than `enough` matters, and every model of a public server reads that much, the
   * list is not waited for.
   */
  async of(name: ModelName, enough = Infinity): Promise<number> {
    return Math.min(this.named(name) ?? Infinity, await this.#of(name, enough));
  }

  /** The window that a refusal named, tokens, which overrides any list; null if none did. */
  named(name: ModelName): number | null {
    return this.#options.learned.window(name);
  }

  /** Whether tools reach the model, as far as its server has said. */
  takesTools(name: ModelName): boolean {
    return this.#options.learned.takesTools(name);
  }

  /** Call when a model refused a request and named its window, tokens. */
  learn(name: ModelName, window: number): void {
    this.#options.learned.learnWindow(name, window);
  }

  async #of(name: ModelName, enough: number): Promise<number> {
    const { pricing, most, ask, clock } = this.#options;
    const configured = [pricing.facts(name)?.contextWindow ?? null, most].filter((window) => window !== null);
    const ref = `${name.provider}/${name.model}`;
    const known = this.#known.get(ref);
    if (known !== undefined && clock.monotonic() < known.until) return Math.min(known.window, ...configured);
    if (configured.length > 0) {
      const asked = await ask(ref);
      const window = asked ?? Infinity;
      this.#known.set(ref, { window, until: clock.monotonic() + ASKED_FOR_MS });
      return Math.min(...configured, window);
    }
    const found = await this.#find(name, ref, enough);
    if (found === null) return UNKNOWN_WINDOW;
    this.#known.set(ref, { window: found.window, until: clock.monotonic() + found.forMs });
    return found.window;
  }

  /** The most tokens that one answer of this model may have, if that is configured. */
  mostOutput(name: ModelName): number | null {
    return this.#options.pricing.facts(name)?.maxOutputTokens ?? null;
  }

  async #find(
    name: ModelName,
    ref: string,
    enough: number,
  ): Promise<{ readonly window: number; readonly forMs: number } | null> {
    const { pricing, ask, log } = this.#options;
    const asked = await ask(ref);
    if (asked !== null) return { window: asked, forMs: ASKED_FOR_MS };
    if (enough <= SURE_WINDOW && !pricing.isLoaded) return null;
    const listed = (await pricing.listed(name))?.context_window;
    const window = listed ?? FAMILIES.find(([pattern]) => pattern.test(name.model))?.[1];
    if (window !== undefined) return { window, forMs: Infinity };
    if (this.#warned.size < 256 && !this.#warned.has(ref)) {
      this.#warned.add(ref);
      log.warn(
        `context: the window of ${ref} is unknown: ${UNKNOWN_WINDOW} tokens are assumed; set models."${ref}".contextWindow`,
        { model: ref, assumed: UNKNOWN_WINDOW },
      );
    }
    return { window: UNKNOWN_WINDOW, forMs: ASKED_FOR_MS };
  }
}

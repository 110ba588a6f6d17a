import type { calcPrice, findProvider, ModelInfo, Provider as ListedProvider } from '@pydantic/genai-prices';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Usage } from '../util/token-usage.ts';
import { usualKind, type Preset, type Presets } from './presets.ts';
import type { ModelName } from './provider.ts';

/** What is used of the list. */
interface PriceList {
  readonly calcPrice: typeof calcPrice;
  readonly findProvider: typeof findProvider;
}

/** Facts about one model, as `config.models` gives them; null: what is known. */
export interface ModelFacts {
  /** Tokens. */
  readonly contextWindow: number | null;
  /** Tokens of one answer. */
  readonly maxOutputTokens: number | null;
  /** Dollars per million tokens. */
  readonly price: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
  } | null;
}

export interface PricingOptions {
  readonly presets: Presets;
  /** By `provider/model`. */
  readonly models: Readonly<Record<string, ModelFacts>>;
  readonly providers: Readonly<Record<string, { readonly kind?: string | null; readonly baseUrl?: string | null }>>;
  readonly log: Logger;
  /** @default the package's own list */
  readonly loadList?: () => Promise<unknown>;
}

const FREE_OF_CHARGE: Usage = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };

/**
 * What model calls cost, by the configuration, else by a public list that comes with the program. The list is large:
 * it is loaded when it is first needed, and not at all for models of which everything is configured.
 */
export class Pricing {
  readonly #options: PricingOptions;
  #list: PriceList | undefined;
  #loading: Promise<void> | undefined;

  constructor(options: PricingOptions) {
    this.#options = options;
  }

  /** Whether the list is in memory. */
  get isLoaded(): boolean {
    return this.#list !== undefined;
  }

  /** Makes sure that `costOf` knows what can be known of this model. Never throws. */
  async prepare(name: ModelName): Promise<void> {
    const facts = this.facts(name);
    if (facts?.price !== null && facts?.price !== undefined) return;
    await this.#load(name);
  }

  /** Dollars; null when the price is unknown. A script costs nothing. */
  costOf(name: ModelName, usage: Usage): number | null {
    const price = this.facts(name)?.price ?? null;
    if (price === null) return this.#presetOf(name)?.isScripted === true ? 0 : (this.#find(name, usage)?.total ?? null);
    const uncached = Math.max(0, usage.input - usage.cached - usage.cacheWrite);
    const cost =
      uncached * price.input +
      usage.cached * price.cacheRead +
      usage.cacheWrite * price.cacheWrite +
      usage.output * price.output;
    return cost / 1_000_000;
  }

  /** What the list says of the model; null when it says nothing. */
  async listed(name: ModelName): Promise<{ readonly context_window?: number } | null> {
    await this.#load(name);
    return this.#find(name, FREE_OF_CHARGE)?.model ?? this.#ask(name, FREE_OF_CHARGE, {})?.model ?? null;
  }

  facts({ provider, model }: ModelName): ModelFacts | undefined {
    const { models } = this.#options;
    const ref = `${provider}/${model}`;
    return Object.hasOwn(models, ref) ? models[ref] : undefined;
  }

  #load(name: ModelName): Promise<void> {
    if (this.#listedAs(this.#kindOf(name)) === null) return Promise.resolve();
    const load = this.#options.loadList ?? (() => import('@pydantic/genai-prices'));
    this.#loading ??= load().then(
      (list) => {
        // It is the package's, or a test's in its form.
        this.#list = list as PriceList;
      },
      (error: unknown) => {
        this.#options.log.warn('pricing: list not loaded', { reason: errorMessage(error) });
      },
    );
    return this.#loading;
  }

  /** The provider by its address where that is known, else by its kind; another address of OpenAI's API is anybody's. */
  #find(name: ModelName, usage: Usage): { readonly total: number; readonly model: ModelInfo } | null {
    const kind = this.#kindOf(name);
    const list = this.#list;
    const providerId = this.#listedAs(kind);
    if (list === undefined || providerId === undefined || providerId === null) return null;
    const { baseUrl } = this.#configOf(name);
    const custom = typeof baseUrl === 'string' && baseUrl !== '';
    const byAddress = custom ? list.findProvider({ providerApiUrl: baseUrl }) : undefined;
    if (byAddress !== undefined) return this.#ask(name, usage, { provider: byAddress });
    if (custom && this.#presetOf(name)?.isUsual === true) return null;
    return this.#ask(name, usage, { providerId });
  }

  #ask(
    { model }: ModelName,
    usage: Usage,
    where: { readonly provider?: ListedProvider; readonly providerId?: string },
  ): { readonly total: number; readonly model: ModelInfo } | null {
    // The list refuses counts that contradict each other, which some servers send.
    const input = Math.max(usage.input, usage.cached + usage.cacheWrite);
    const counts = {
      input_tokens: input,
      cache_read_tokens: usage.cached,
      cache_write_tokens: usage.cacheWrite,
      output_tokens: usage.output,
    };
    try {
      const found = this.#list?.calcPrice(counts, model, where) ?? null;
      return found === null ? null : { total: found.total_price, model: found.model };
    } catch {
      return null;
    }
  }

  #configOf({ provider }: ModelName): {
    readonly kind?: string | null;
    readonly baseUrl?: string | null;
  } {
    const { providers } = this.#options;
    return (Object.hasOwn(providers, provider) ? providers[provider] : undefined) ?? {};
  }

  /** The name of a kind in the list; null: it is in none; undefined: the kind is not known. */
  #listedAs(kind: string | null): string | null | undefined {
    if (kind === null) return undefined;
    const listed = this.#options.presets.get(kind)?.listedAs;
    return listed === undefined ? kind : listed;
  }

  #presetOf(name: ModelName): Preset | undefined {
    return this.#options.presets.get(this.#kindOf(name) ?? '');
  }

  /** Null: a server of which only the address is known. */
  #kindOf(name: ModelName): string | null {
    const { kind, baseUrl } = this.#configOf(name);
    if (kind !== undefined && kind !== null) return kind;
    if (this.#options.presets.has(name.provider)) return name.provider;
    return typeof baseUrl === 'string' && baseUrl !== '' ? (usualKind(this.#options.presets) ?? null) : null;
  }
}

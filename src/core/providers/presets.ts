import type { Vendor } from './vendor.ts';

/** Where servers that speak OpenAI's Chat Completions differ. */
export interface Quirks {
  /** The name of the limit on an answer. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens';
  readonly systemRole: 'system' | 'developer';
  /**
   * How thinking is asked for: `reasoning_effort`, OpenRouter's `reasoning`, a `thinking` switch, `enable_thinking`;
   * `none`: the model decides, and a field would be refused.
   */
  readonly reasoning: 'effort' | 'openrouter' | 'thinking' | 'enable-thinking' | 'none';
  /** Whether `stream_options.include_usage` is accepted. */
  readonly streamUsage: boolean;
  /** What ids of tool calls may look like. */
  readonly callId: RegExp;
  /** An assistant's word must stand between a tool's result and the next word of a person. */
  readonly answerAfterTools: boolean;
  /** Whether tool choice `none` is understood; where it is not, the tools stay offered. */
  readonly choiceNone: boolean;
  /** Fields of each request. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A service that is known by name. */
export interface ServiceRow {
  /** Null: the SDK's own address, or none at all. */
  readonly baseUrl: string | null;
  /** The SDK's own address, for what asks the server without the SDK. */
  readonly ownUrl?: string;
  /** The address differs from customer to customer and must be configured. */
  readonly needsBaseUrl?: boolean;
  /** The usual environment variable of the key; null: no key is needed. */
  readonly keyVariable: string | null;
  /** The usual environment variable of another address. @default none */
  readonly baseUrlVariable?: string;
  /** Where a person gets a key; left out where that is not known. */
  readonly keyPage?: string;
  /** What `model: "auto"` takes; null: there is no model that everybody has. */
  readonly defaultModel: string | null;
  /** Its name in the list of prices; null: it runs on this machine, so no list knows what it costs. @default its own name */
  readonly listedAs?: string | null;
  /** Of a server on this machine, which `assistant init` looks for: how people call it. */
  readonly title?: string;
  /** Where the environment says that it listens. @default it says nothing */
  readonly addressIn?: (env: Readonly<Record<string, string | undefined>>) => string | null;
  /** The service before which people see it. @default the last */
  readonly before?: string;
  /** Where it differs from most. */
  readonly quirks?: Partial<Quirks>;
  /** Below its own root it serves OpenAI's API too, as `/v1`; an address may be given either way. */
  readonly hasRoot?: true;
  /** An address without a `kind` is taken for a server with this API, which most servers speak. */
  readonly isUsual?: true;
  /** No model: it answers by a script, costs nothing, and is what `model: "auto"` takes when no service has a key. */
  readonly isScripted?: true;
  /** The model that turns speech into text, if it has one. */
  readonly hears?: string;
  /** The model that speaks texts, if it has one, and dollars per million characters by model at the service's own address. */
  readonly speaks?: { readonly model: string; readonly prices: Readonly<Record<string, number>> };
}

export interface Preset extends ServiceRow {
  /** The wire that it speaks: its vendor's. */
  readonly api: string;
  /** The extension that brings it, where it is switched off: then it can't be called. */
  readonly off?: string;
}

/** Services by name. */
export type Presets = ReadonlyMap<string, Preset>;

/** Services that speak the wire of a vendor. */
export type Services = Pick<Vendor, 'api' | 'presets'>;

/** The services by their names, in the order in which `model: "auto"` looks for a key and people see them. */
export function presetsOf(services: readonly Services[]): Presets {
  const rows: (readonly [string, Preset])[] = [];
  for (const { api, presets } of services)
    for (const [name, row] of Object.entries(presets)) {
      const before = rows.findIndex(([other]) => other === row.before);
      rows.splice(before === -1 ? rows.length : before, 0, [name, { ...row, api }]);
    }
  return new Map(rows);
}

/** The kind of an entry that only has an address; undefined: no vendor of this program speaks the API of most servers. */
export function usualKind(presets: Presets): string | undefined {
  return kindWhere(presets, ({ isUsual }) => isUsual === true);
}

/** The kind that answers without a model; undefined: this program has none. */
export function scriptedKind(presets: Presets): string | undefined {
  return kindWhere(presets, ({ isScripted, off }) => isScripted === true && off === undefined);
}

function kindWhere(presets: Presets, test: (preset: Preset) => boolean): string | undefined {
  return [...presets].find(([, preset]) => test(preset))?.[0];
}

/** The address without the `/v1` of an OpenAI-compatible API. */
export function rootOf(baseUrl: string): string {
  return baseUrl.replace(/\/+$/u, '').replace(/\/v1$/u, '');
}

/** How a provider is spoken to. */
type Wire = 'anthropic' | 'openai' | 'demo';

export interface Preset {
  readonly wire: Wire;
  /** Null: the SDK's own address, or none at all. */
  readonly baseUrl: string | null;
  /** The usual environment variable of the key; null: no key is needed. */
  readonly keyVariable: string | null;
  /** What `model: "auto"` takes. */
  readonly defaultModel: string;
}

/** The providers known by name, in the order in which `model: "auto"` looks for a key. */
export const PRESETS = {
  anthropic: { wire: 'anthropic', baseUrl: null, keyVariable: 'ANTHROPIC_API_KEY', defaultModel: 'claude-sonnet-5-5' },
  openai: { wire: 'openai', baseUrl: null, keyVariable: 'OPENAI_API_KEY', defaultModel: 'gpt-5.5' },
  demo: { wire: 'demo', baseUrl: null, keyVariable: null, defaultModel: 'scripted' },
} as const satisfies Record<string, Preset>;

/** The row for a name, if there is one. */
export function findPreset(name: string): Preset | undefined {
  const rows: Readonly<Record<string, Preset>> = PRESETS;
  return Object.hasOwn(rows, name) ? rows[name] : undefined;
}

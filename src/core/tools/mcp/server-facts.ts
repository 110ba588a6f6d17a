/** How what a server offers now differs from what was agreed to. Names of tools, and `(resources)`, `(prompts)`. */
export interface Difference {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** How a server stands, for people. */
export interface ServerFacts {
  readonly name: string;
  /** The command line, or the address; without secrets. */
  readonly runs: string;
  /** `off`: the configuration does not use it. */
  readonly state: 'off' | 'idle' | 'starting' | 'running' | 'failed';
  /** Why it does not work. */
  readonly trouble: string | null;
  /** When it was agreed to (milliseconds since 1970) and how many tools it had; null: no contact yet. */
  readonly pinned: { readonly at: number; readonly tools: number } | null;
  /** Names under which its tools are offered. */
  readonly offered: readonly string[];
  /** How what it offers now differs from what was agreed to; null: it is not running, so no one knows. */
  readonly difference: Difference | null;
}

/** What a server offers now. */
export interface ServerReport extends ServerFacts {
  /** As it names itself. */
  readonly is: string;
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    /** Its JSON Schema, which a model reads too. */
    readonly parameters: Readonly<Record<string, unknown>>;
    /** `added` and `changed` ones are off until they are agreed to; no model can be shown an `unusable` one. */
    readonly state: 'agreed' | 'added' | 'changed' | 'unusable';
  }[];
  readonly resources: boolean;
  readonly prompts: boolean;
  /** Of all this; an agreement names it. */
  readonly hash: string;
}

/** The MCP servers of the configuration; nothing of them is loaded where there are none. */
export interface Mcp extends AsyncDisposable {
  /** Registers the tools that were agreed to earlier; to be awaited before the first turn. Starts no server. */
  readonly open: () => Promise<void>;
  /** Takes up what the configuration says now of these servers; each of them starts anew, the others are not touched. */
  readonly update: (names: readonly string[]) => Promise<void>;
  /** Connects to servers that are new in the configuration, in the background. */
  readonly connectNew: () => void;
  readonly list: () => readonly ServerFacts[];
  readonly test: (name: string) => Promise<ServerReport>;
  readonly trust: (name: string, hash: string) => Promise<Difference>;
  /** One sentence each. */
  readonly troubles: () => readonly string[];
}

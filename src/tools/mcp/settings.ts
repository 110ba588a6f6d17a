/** One server as the configuration has it. */
export interface McpSettings {
  readonly type: 'stdio' | 'http' | 'streamable-http' | 'sse' | null;
  readonly command?: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Null: the workspace. */
  readonly cwd: string | null;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Patterns with `*` of the tools that are offered. */
  readonly tools: readonly string[];
  readonly role: 'owner' | 'trusted';
  /** Whether its word counts that a tool only reads. */
  readonly trusted: boolean;
  readonly timeouts: { readonly startSeconds: number; readonly callSeconds: number };
}

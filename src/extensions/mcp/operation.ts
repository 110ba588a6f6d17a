import { operation, z, type App } from '../../core/api.ts';

const name = z.string().describe('Name of the server in the configuration.');
const poolOf = async (app: App) => await app.once((await import('./open.ts')).openPool);

/** Names of tools, and `(resources)`, `(prompts)`. */
const difference = z.object({
  added: z.array(z.string()).readonly(),
  changed: z.array(z.string()).readonly(),
  removed: z.array(z.string()).readonly(),
});

const serverFacts = z.object({
  name: z.string(),
  /** The command line, or the address; without secrets. */
  runs: z.string(),
  /** `off`: the configuration doesn't use it. */
  state: z.enum(['off', 'idle', 'starting', 'running', 'failed']),
  /** Why it doesn't work. */
  trouble: z.string().nullable(),
  /** When it was agreed to (milliseconds since 1970) and how many tools it had; null: no contact yet. */
  pinned: z.object({ at: z.number(), tools: z.number() }).nullable(),
  /** Names under which its tools are offered. */
  offered: z.array(z.string()).readonly(),
  /** How what it offers now differs from what was agreed to; null: it isn't running, so nobody knows. */
  difference: difference.nullable(),
});

export const mcpList = operation({
  name: 'mcpList',
  about: 'Lists the MCP servers of the configuration, each with its state.',
  changes: null,
  input: z.object({}),
  output: z.array(serverFacts).readonly(),
  run: async (app) => (await poolOf(app)).list(),
});

export const mcpTest = operation({
  name: 'mcpTest',
  about:
    'Starts an MCP server and returns what it offers; `mcp-unknown` for another name, `mcp-server` if it does not work.',
  changes: null,
  input: z.object({ name }),
  output: serverFacts.extend({
    /** As it names itself. */
    is: z.string(),
    tools: z
      .array(
        z.object({
          name: z.string(),
          description: z.string(),
          /** Its JSON Schema, which a model reads too. */
          parameters: z.record(z.string(), z.unknown()),
          /** `added` and `changed` ones are off until they are agreed to; no model can be shown an `unusable` one. */
          state: z.enum(['changed', 'added', 'unusable', 'agreed']),
        }),
      )
      .readonly(),
    resources: z.boolean(),
    prompts: z.boolean(),
    /** Lines for people: which of them only read and which don't. Empty once the owner has agreed. */
    readOnly: z.array(z.string()).readonly(),
    /** Of all this; an agreement names it. */
    hash: z.string(),
  }),
  run: async (app, given) => await (await poolOf(app)).test(given.name),
});

export const mcpTrust = operation({
  name: 'mcpTrust',
  about:
    'Approves the tools that an MCP server offers now, if they are those that a test showed; `mcp-changed` if they are not.',
  changes: 'mcp',
  input: z.object({ name, hash: z.string().describe('The `hash` that `mcpTest` returned.') }),
  output: difference,
  run: async (app, given) => await (await poolOf(app)).trust(given.name, given.hash),
});

declare module '../../core/api.ts' {
  interface ExtensionOperations {
    readonly mcpList: typeof mcpList;
    readonly mcpTest: typeof mcpTest;
    readonly mcpTrust: typeof mcpTrust;
  }
}

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { assistantCommand } from '../../util/assistant-command.ts';
import { OwnWordsError } from '../../util/errors.ts';
import { matchesName } from '../../util/text.ts';
import { toJsonSchema } from '../json-schema.ts';
import { defineTool, type ApprovalRequest, type Plan, type Tool, type ToolContext } from '../tool.ts';
import { listPrompts, listResources, toolHash, type ForeignTool, type Listing } from './listing.ts';
import {
  answerSchema,
  callPieces,
  promptPieces,
  resourcePieces,
  resultOf,
  type KeepFile,
  type Piece,
} from './result.ts';
import { forServer, showTools, validatorOf } from './schemas.ts';
import type { McpServer } from './server.ts';

export interface ToolServer {
  readonly server: McpServer;
  readonly keep: KeepFile;
  /** Whether a tool has this name already. */
  readonly isTaken: (name: string) => boolean;
  /** For a server that nobody looked through: asked before the first call of each tool (by its name for the model). */
  readonly firstUse?: {
    readonly allowed: Set<string>;
    readonly ask: (tool: string, params: unknown) => ApprovalRequest;
  };
  /** How a changed tool comes to be agreed to. @default `assistant mcp trust` */
  readonly remedy?: string;
}

/** What model APIs take as the name of a tool. */
const LONGEST_NAME = 64;
const HASH_DIGITS = 8;
/** Longest wait for a person whom the server asks something. */
const QUESTION_MS = 600_000;
const MARGIN_MS = 5_000;

/**
 * The tools of a server's approved listing. The model sees only these, even if the server offers others now. `unusable`:
 * the server's tools that no model could be shown.
 */
export function toolsOf(
  { tools, resources, prompts }: Listing,
  from: ToolServer,
): { readonly tools: readonly Tool[]; readonly unusable: readonly string[] } {
  const { name: server, settings } = from.server.options;
  const isWanted = (name: string): boolean => matchesName(settings.tools, name);
  const wanted = tools.filter(({ name }) => isWanted(name));
  const shown = showTools(wanted);
  const taken = new Set<string>();
  const nameFor = (tool: string): string => {
    const name = toolName(server, tool, (candidate) => taken.has(candidate) || from.isTaken(candidate));
    taken.add(name);
    return name;
  };
  const own = wanted.flatMap((tool, at) => {
    const seen = shown[at];
    return seen === undefined ? [] : [foreignTool(tool, { ...seen, name: nameFor(tool.name) }, from)];
  });
  return {
    tools: [
      ...own,
      ...(resources && isWanted('read_resource') ? [readResourceTool(nameFor('read_resource'), from)] : []),
      ...(prompts && isWanted('get_prompt') ? [getPromptTool(nameFor('get_prompt'), from)] : []),
    ],
    unusable: wanted.filter((_tool, at) => shown[at] === undefined).map(({ name }) => name),
  };
}

function foreignTool(
  tool: ForeignTool,
  shown: { readonly name: string; readonly description: string; readonly parameters: NonNullable<Tool['jsonSchema']> },
  from: ToolServer,
): Tool {
  const { name } = shown;
  const agreed = toolHash(tool);
  // For a tool that its server says nothing of.
  const undescribed = `Call the tool ${JSON.stringify(tool.name)} of the MCP server ${from.server.options.name}, which does not describe it. Use it only when its name and parameters show that it fits.`;
  let validator: z.ZodObject | undefined;
  return defineTool({
    ...traitsOf(from, tool.annotations['readOnlyHint'] === true),
    name,
    description: shown.description.trim() === '' ? undescribed : shown.description,
    jsonSchema: shown.parameters,
    // Made at the first call: a server may have hundreds of tools.
    get parameters() {
      validator ??= validatorOf(tool.inputSchema);
      return validator;
    },
    plan: (params, context) =>
      planOf(from, { tool: name, what: tool.name, params, context }, async (server, options) => {
        const offered = (): ForeignTool | undefined => server.listing.tools.find((one) => one.name === tool.name);
        const isAgreed = (now = offered()): boolean => now !== undefined && toolHash(now) === agreed;
        // Some servers announce tools a moment after they started.
        if (!isAgreed()) await from.server.settle(options.signal);
        if (!isAgreed()) throw notAgreed(name, offered() !== undefined, from);
        context.permit?.check();
        const args = { name: tool.name, arguments: forServer(tool.inputSchema, params) };
        const answer = await server.client.request({ method: 'tools/call', params: args }, answerSchema, options);
        return { pieces: callPieces(answer), isError: answer['isError'] === true };
      }),
  });
}

/** The server doesn't offer this tool any more as it was agreed to. */
function notAgreed(tool: string, isOffered: boolean, from: ToolServer): OwnWordsError {
  const why = isOffered
    ? `The MCP server ${from.server.options.name} changed ${tool}, so it is off until the owner agrees`
    : `The MCP server ${from.server.options.name} does not offer ${tool} any more`;
  const remedy =
    from.remedy ?? `To agree, the owner runs: ${assistantCommand(`mcp trust ${from.server.options.name}`)}`;
  return new OwnWordsError('mcp-tool', { said: '', own: `${why}. ${remedy}` });
}

const resourceParams = z.object({
  uri: z
    .string()
    .min(1)
    .max(4_000)
    .optional()
    .describe('URI of a resource as the list shows it, e.g. file:///notes/todo.md. Default: the resources are listed.'),
});

function readResourceTool(name: string, from: ToolServer): Tool {
  return defineTool({
    ...traitsOf(from, true),
    name,
    description: `Read a resource, such as a file or a record, of the MCP server ${from.server.options.name}; without a URI, list its resources. Use it when a tool or the person names one.`,
    parameters: resourceParams,
    jsonSchema: toJsonSchema(resourceParams),
    plan: (params, context) =>
      planOf(from, { tool: name, what: 'read_resource', params, context }, async ({ client }, options) => {
        const { uri } = params;
        if (uri === undefined) return { pieces: listPieces(await listResources(client, options)) };
        const request = { method: 'resources/read' as const, params: { uri } };
        return { pieces: resourcePieces(await client.request(request, answerSchema, options)) };
      }),
  });
}

const promptParams = z.object({
  name: z
    .string()
    .min(1)
    .max(400)
    .optional()
    .describe('Name of a prompt as the list shows it, e.g. summarize. Default: the prompts are listed.'),
  arguments: z
    .record(z.string(), z.string())
    .optional()
    .describe('Texts that the prompt asks for, by name, e.g. {"language": "French"}. Default: {}.'),
});

function getPromptTool(name: string, from: ToolServer): Tool {
  return defineTool({
    ...traitsOf(from, true),
    name,
    description: `Get a prompt, which is a prepared text with instructions, of the MCP server ${from.server.options.name}; without a name, list its prompts. Use it when the person wants one.`,
    parameters: promptParams,
    jsonSchema: toJsonSchema(promptParams),
    plan: (params, context) =>
      planOf(from, { tool: name, what: 'get_prompt', params, context }, async ({ client }, options) => {
        const { name: prompt, arguments: args = {} } = params;
        if (prompt === undefined) return { pieces: listPieces(await listPrompts(client, options)) };
        const request = { method: 'prompts/get' as const, params: { name: prompt, arguments: args } };
        return { pieces: promptPieces(await client.request(request, answerSchema, options)) };
      }),
  });
}

/** A list of what can be asked for, a line each. */
function listPieces(lines: readonly string[]): readonly Piece[] {
  return [{ text: lines.length === 0 ? 'There are none.' : lines.join('\n') }];
}

/** A server's word that something only reads counts where the owner says so. */
function traitsOf(
  {
    server: {
      options: { settings },
    },
  }: ToolServer,
  onlyReads: boolean,
): Pick<Tool, 'effect' | 'role' | 'timeoutMs' | 'untrusted' | 'source'> {
  const { startSeconds, callSeconds } = settings.timeouts;
  return {
    effect: settings.trusted && onlyReads ? 'none' : 'effect',
    role: settings.role,
    // The server's own deadlines come before it; a question in the middle of a call takes its time.
    timeoutMs: (startSeconds + callSeconds) * 1000 + QUESTION_MS + MARGIN_MS,
    untrusted: true,
    source: 'an MCP server',
  };
}

/** The plan of a call. `ask`: what the server is asked then, for an answer in pieces. */
function planOf(
  { server, keep, firstUse }: ToolServer,
  { tool, what, params, context }: { tool: string; what: string; params: unknown; context: ToolContext },
  ask: Parameters<typeof server.run<{ readonly pieces: readonly Piece[]; readonly isError?: boolean }>>[1],
): Plan {
  const isFirstUse = firstUse !== undefined && !firstUse.allowed.has(tool);
  return {
    ...(isFirstUse ? { asks: firstUse.ask(tool, params) } : {}),
    ...(firstUse !== undefined && !isFirstUse ? { allowedBy: 'its first use was allowed' } : {}),
    run: async (signal) => {
      if (context.approval !== null) firstUse?.allowed.add(tool);
      const { pieces, isError = false } = await server.run({ ...context, signal }, ask);
      const result = await resultOf(pieces, { title: `${server.options.name}: ${what}`, context, keep });
      return isError ? { ...result, isError } : result;
    },
  };
}

/**
 * The name under which a model sees a server's tool: `mcp_<server>_<tool>`, of letters, digits, `_` and `-`, at most 64
 * characters. A name that had to be cut, or that is taken, ends with a hash of the two true names.
 */
export function toolName(server: string, tool: string, isTaken: (name: string) => boolean = () => false): string {
  const plain = `mcp_${server}_${tool}`.replace(/[^\w-]/gu, '_');
  if (plain.length <= LONGEST_NAME && !isTaken(plain)) return plain;
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex');
  return `${plain.slice(0, LONGEST_NAME - HASH_DIGITS - 1)}_${hash.slice(0, HASH_DIGITS)}`;
}

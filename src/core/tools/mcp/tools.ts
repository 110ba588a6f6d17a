import { createHash } from 'node:crypto';
import * as z from 'zod';
import { assistantCommand } from '../../util/assistant-command.ts';
import { OwnWordsError } from '../../util/errors.ts';
import { matches } from '../registry/decide.ts';
import { toJsonSchema } from '../registry/schema.ts';
import { defineTool, type ApprovalRequest, type Executed, type Plan, type Tool, type ToolContext } from '../tool.ts';
import { listPrompts, listResources, toolHash, type ForeignTool, type Listing } from './listing.ts';
import {
  answerSchema,
  callResult,
  listResult,
  promptResult,
  resourceResult,
  type AnsweredCall,
  type KeepFile,
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
  const isWanted = (name: string): boolean => matches(settings.tools, name);
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
      planOf(from, { tool: name, params, context }, async (server, options) => {
        const offered = (): ForeignTool | undefined => server.listing.tools.find((one) => one.name === tool.name);
        const isAgreed = (now = offered()): boolean => now !== undefined && toolHash(now) === agreed;
        // Some servers announce tools a moment after they started.
        if (!isAgreed()) await from.server.settle(options.signal);
        if (!isAgreed()) throw notAgreed(name, offered() !== undefined, from);
        context.permit?.check();
        const args = { name: tool.name, arguments: forServer(tool.inputSchema, params) };
        const result = await server.client.request({ method: 'tools/call', params: args }, answerSchema, options);
        return await callResult(result, callTo(tool.name, from, context));
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

function readResourceTool(name: string, from: ToolServer): Tool {
  const parameters = z.object({
    uri: z
      .string()
      .min(1)
      .max(4_000)
      .optional()
      .describe(
        'URI of a resource as the list shows it, e.g. file:///notes/todo.md. Default: the resources are listed.',
      ),
  });
  return defineTool({
    ...traitsOf(from, true),
    name,
    description: `Read a resource, such as a file or a record, of the MCP server ${from.server.options.name}; without a URI, list its resources. Use it when a tool or the person names one.`,
    parameters,
    jsonSchema: toJsonSchema(parameters),
    plan: (params, context) =>
      planOf(from, { tool: name, params, context }, async ({ client }, options) => {
        const about = callTo('read_resource', from, context);
        if (params.uri === undefined) return listResult(await listResources(client, options), about);
        const request = { method: 'resources/read' as const, params: { uri: params.uri } };
        return await resourceResult(await client.request(request, answerSchema, options), about);
      }),
  });
}

function getPromptTool(name: string, from: ToolServer): Tool {
  const parameters = z.object({
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
  return defineTool({
    ...traitsOf(from, true),
    name,
    description: `Get a prompt, which is a prepared text with instructions, of the MCP server ${from.server.options.name}; without a name, list its prompts. Use it when the person wants one.`,
    parameters,
    jsonSchema: toJsonSchema(parameters),
    plan: (params, context) =>
      planOf(from, { tool: name, params, context }, async ({ client }, options) => {
        const about = callTo('get_prompt', from, context);
        if (params.name === undefined) return listResult(await listPrompts(client, options), about);
        const request = {
          method: 'prompts/get' as const,
          params: { name: params.name, arguments: params.arguments ?? {} },
        };
        return await promptResult(await client.request(request, answerSchema, options), about);
      }),
  });
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

/** The plan of a call. `ask`: what the server is asked then. */
function planOf(
  { server, firstUse }: ToolServer,
  { tool, params, context }: { readonly tool: string; readonly params: unknown; readonly context: ToolContext },
  ask: Parameters<typeof server.run<Executed>>[1],
): Plan {
  const run: Plan['run'] = (signal) => server.run({ ...context, signal }, ask);
  if (firstUse === undefined) return { run };
  if (firstUse.allowed.has(tool)) return { run, allowedBy: 'its first use was allowed' };
  return {
    asks: firstUse.ask(tool, params),
    run: (signal) => {
      if (context.approval !== null) firstUse.allowed.add(tool);
      return run(signal);
    },
  };
}

function callTo(what: string, { server, keep }: ToolServer, context: ToolContext): AnsweredCall {
  return { server: server.options.name, what, context, keep };
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

import { createHash } from 'node:crypto';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type * as z from 'zod';
import { assistantCommand, oneLine, type App } from '../../core/api.ts';
import { matchesName, OwnWordsError } from '../../core/api-clients.ts';
import { callDetail, defineTool, type Plan, type Tool, type ToolContext } from '../../core/api-tools.ts';
import { listLines, READ_RESOURCE, toolHash, type ForeignTool, type Listing } from './listing.ts';
import { answerSchema, resultOf, type Answer } from './result.ts';
import { forServer, showTools, validatorOf, type ShownTool } from './schemas.ts';
import type { McpServer, RunningServer } from './server.ts';

export interface ToolServer {
  readonly server: McpServer;
  /** What the owner agreed to. */
  readonly listing: Listing;
  /** Names of the tools of which the owner agreed that they only read. */
  readonly readOnly: readonly string[];
  readonly spill: Pick<App['spill'], 'keep'>;
  /** Whether a tool has this name already. */
  readonly isTaken: (name: string) => boolean;
  /** Of a server that an editor brought, so that nobody looked through it: its tools, as models name them, whose first use was allowed. */
  readonly allowed: Set<string> | undefined;
}

type Params = Readonly<Record<string, unknown>>;

/** A tool of a server, or one to read what it has beside tools. */
interface Offer {
  readonly tool: ForeignTool;
  /** Asks the server, in a call of the tool. Returns a string if the answer is already formatted. */
  readonly ask: (params: Params, running: RunningServer, options: RequestOptions) => Promise<Answer | string>;
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
export function toolsOf(from: ToolServer): { readonly tools: readonly Tool[]; readonly unusable: readonly string[] } {
  const { tools, resources, prompts } = from.listing;
  const { name: server, settings } = from.server.options;
  const all = [
    ...tools.map((tool) => ({ tool, ask: callOf(tool) })),
    ...(resources ? [readingResources(server)] : []),
    ...(prompts ? [gettingPrompts(server)] : []),
  ];
  const wanted = all.filter(({ tool }) => matchesName(settings.tools, tool.name));
  const shown = showTools(wanted.map(({ tool }) => tool));
  const taken = new Set<string>();
  const offered = wanted.flatMap((offer, at) => {
    const seen = shown[at];
    if (seen === undefined) return [];
    const name = toolName(server, offer.tool.name, (one) => taken.has(one) || from.isTaken(one));
    taken.add(name);
    return [offeredTool(offer, { ...seen, name }, from)];
  });
  return {
    tools: offered,
    unusable: wanted.filter((_one, at) => shown[at] === undefined).map(({ tool }) => tool.name),
  };
}

function offeredTool(offer: Offer, shown: ShownTool & { readonly name: string }, from: ToolServer): Tool {
  const { name: own, inputSchema } = offer.tool;
  const onlyReads = from.readOnly.includes(own);
  const { name: server, settings } = from.server.options;
  const { startSeconds, callSeconds } = settings.timeouts;
  // For a tool that its server says nothing of.
  const undescribed = `Call the tool ${JSON.stringify(own)} of the MCP server ${server}, which does not describe it. Use it only when its name and parameters show that it fits.`;
  let validator: z.ZodObject | undefined;
  return defineTool({
    name: shown.name,
    description: shown.description.trim() === '' ? undescribed : shown.description,
    jsonSchema: shown.parameters,
    // Made at the first call: a server may have hundreds of tools.
    get parameters() {
      validator ??= validatorOf(inputSchema);
      return validator;
    },
    effect: onlyReads ? 'none' : 'effect',
    foreign: { onlyReads },
    role: settings.role,
    // The server's own deadlines come before it; a question in the middle of a call takes its time.
    timeoutMs: (startSeconds + callSeconds) * 1000 + QUESTION_MS + MARGIN_MS,
    untrusted: true,
    source: 'an MCP server',
    plan: (params, context) => planOf(offer, { params, context, name: shown.name, from }),
  });
}

function planOf(
  { tool, ask }: Offer,
  call: { readonly params: Params; readonly context: ToolContext; readonly name: string; readonly from: ToolServer },
): Plan {
  const { params, context, name, from } = call;
  const { server, spill, allowed } = from;
  const run: Plan['run'] = async (signal) => {
    if (context.approval !== null) allowed?.add(name);
    const answer = await server.run({ ...context, signal }, async (running, options) => {
      if (from.listing.tools.includes(tool)) await requireAgreed(tool, running, { name, from, signal: options.signal });
      context.permit?.check();
      return await ask(params, running, options);
    });
    const title = oneLine(`${server.options.name}: ${tool.name}`, 80);
    if (typeof answer === 'string') return { title, output: answer, untrusted: true };
    const result = await resultOf(answer, (...file) => spill.keep(context.call.sessionKey, ...file));
    return { title, ...result, ...(answer['isError'] === true ? { isError: true } : {}) };
  };
  if (allowed === undefined) return { run };
  if (allowed.has(name)) return { run, allowedBy: 'its first use was allowed' };
  const asks = {
    title: 'Use a tool of the editor',
    detail: callDetail(name, params),
    reason: `it is the first use of a tool of ${server.options.name}, an MCP server that the editor brought and nobody looked through`,
  };
  return { run, asks };
}

/** Throws if the server doesn't offer a tool any more as it was agreed to. */
async function requireAgreed(
  tool: ForeignTool,
  running: RunningServer,
  { name, from, signal }: { readonly name: string; readonly from: ToolServer; readonly signal: AbortSignal },
): Promise<void> {
  const offered = (): ForeignTool | undefined => running.listing.tools.find((one) => one.name === tool.name);
  const isAgreed = (now = offered()): boolean => now !== undefined && toolHash(now) === toolHash(tool);
  // Some servers announce tools a moment after they started.
  if (!isAgreed()) await from.server.settle(signal);
  if (isAgreed()) return;
  const server = from.server.options.name;
  const why =
    offered() === undefined
      ? `The MCP server ${server} does not offer ${name} any more`
      : `The MCP server ${server} changed ${name}, so it is off until the owner agrees`;
  const remedy =
    from.allowed === undefined
      ? `To agree, the owner runs: ${assistantCommand(`mcp trust ${server}`)}`
      : 'The owner opens the conversation in the editor again to use what it offers now.';
  throw new OwnWordsError('mcp-tool', { said: '', own: `${why}. ${remedy}` });
}

function callOf({ name, inputSchema }: ForeignTool): Offer['ask'] {
  return async (params, { client }, options) => {
    const request = { name, arguments: forServer(inputSchema, params) };
    return await client.request({ method: 'tools/call', params: request }, answerSchema, options);
  };
}

function readingResources(server: string): Offer {
  const description =
    'URI of a resource as the list shows it, e.g. file:///notes/todo.md. Default: the resources are listed.';
  return {
    tool: {
      name: READ_RESOURCE,
      description: `Read a resource, such as a file or a record, of the MCP server ${server}; without a URI, list its resources. Use it when a tool or the person names one.`,
      inputSchema: { type: 'object', properties: { uri: { description, type: 'string' } } },
      annotations: { readOnlyHint: true },
    },
    ask: async ({ uri }, { client }, options) => {
      if (uri === undefined) return await listLines(client, 'resources', options);
      return await client.request({ method: 'resources/read', params: { uri } }, answerSchema, options);
    },
  };
}

function gettingPrompts(server: string): Offer {
  const properties = {
    name: {
      description: 'Name of a prompt as the list shows it, e.g. summarize. Default: the prompts are listed.',
      type: 'string',
    },
    arguments: {
      description: 'Texts that the prompt asks for, by name, e.g. {"language": "French"}. Default: {}.',
      type: 'object',
      additionalProperties: { type: 'string' },
    },
  };
  return {
    tool: {
      name: 'get_prompt',
      description: `Get a prompt, which is a prepared text with instructions, of the MCP server ${server}; without a name, list its prompts. Use it when the person wants one.`,
      inputSchema: { type: 'object', properties },
      annotations: { readOnlyHint: true },
    },
    ask: async ({ name, arguments: args = {} }, { client }, options) => {
      if (name === undefined) return await listLines(client, 'prompts', options);
      return await client.request({ method: 'prompts/get', params: { name, arguments: args } }, answerSchema, options);
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

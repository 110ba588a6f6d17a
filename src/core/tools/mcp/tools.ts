import * as z from 'zod';
import { assistantCommand } from '../../util/assistant-command.ts';
import { OwnWordsError } from '../../util/errors.ts';
import { matches } from '../registry/decide.ts';
import { toJsonSchema } from '../registry/schema.ts';
import { defineTool, type Tool, type ToolContext } from '../tool.ts';
import { toolHash, type ForeignTool, type Listing } from './listing.ts';
import { callResult, listResult, promptResult, resourceResult, type KeepFile, type AnsweredCall } from './result.ts';
import { forServer, showTools, validatorOf } from './schemas.ts';
import type { LiveServer, McpServer } from './server.ts';
import type { McpSettings } from './stdio.ts';
import { createHash } from 'node:crypto';

/** What model APIs take as the name of a tool. */
const LONGEST = 64;

const HASH_DIGITS = 8;

export interface ToolServer {
  readonly name: string;
  readonly settings: McpSettings;
  readonly server: Pick<McpServer, 'run' | 'settle'>;
  readonly keep: KeepFile;
  /** Whether a tool has this name already. */
  readonly isTaken: (name: string) => boolean;
  /** How a changed tool comes to be agreed to. @default `assistant mcp trust` */
  readonly remedy?: string;
}

export interface OfferedTools {
  readonly tools: readonly Tool[];
  /** Names of the server's tools that no model could be shown. */
  readonly unusable: readonly string[];
}

/** Longest wait for a person whom the server asks something. */
const QUESTION_MS = 600_000;
const MARGIN_MS = 5_000;

/** The tools of a server's approved listing. The model sees only these, even if the server offers others now. */
export function toolsOf({ tools, resources, prompts }: Listing, from: ToolServer): OfferedTools {
  const wanted = tools.filter(({ name }) => matches(from.settings.tools, name));
  const shown = showTools(wanted);
  const taken = new Set<string>();
  const nameFor = (tool: string): string => {
    const name = toolName(from.name, tool, (candidate) => taken.has(candidate) || from.isTaken(candidate));
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
      ...(resources && matches(from.settings.tools, 'read_resource')
        ? [readResourceTool(nameFor('read_resource'), from)]
        : []),
      ...(prompts && matches(from.settings.tools, 'get_prompt') ? [getPromptTool(nameFor('get_prompt'), from)] : []),
    ],
    unusable: wanted.filter((_tool, at) => shown[at] === undefined).map(({ name }) => name),
  };
}

function foreignTool(
  tool: ForeignTool,
  shown: { readonly name: string; readonly description: string; readonly parameters: Tool['jsonSchema'] },
  from: ToolServer,
): Tool {
  const { inputSchema, annotations } = tool;
  const agreed = toolHash(tool);
  let validator: z.ZodObject | undefined;
  return defineTool({
    ...common(from, annotations['readOnlyHint'] === true),
    name: shown.name,
    description: shown.description.trim() === '' ? undescribed(tool.name, from.name) : shown.description,
    jsonSchema: shown.parameters ?? {},
    get parameters() {
      validator ??= validatorOf(inputSchema);
      return validator;
    },
    execute: (params, context) =>
      from.server.run(context, async (live, options) => {
        const { name } = shown;
        await requireAgreed(live, { tool: tool.name, shown: name, agreed, from, signal: options.signal });
        context.permit?.check();
        const result = await live.connection.call(tool.name, forServer(inputSchema, params), options);
        return await callResult(result, callTo(tool.name, from, context));
      }),
  });
}

/** For a tool that its server says nothing of. */
function undescribed(tool: string, server: string): string {
  return `Call the tool ${JSON.stringify(tool)} of the MCP server ${server}, which does not describe it. Use it only when its name and parameters show that it fits.`;
}

/** Throws `mcp-tool` when the server does not offer this any more as it was agreed to. */
async function requireAgreed(
  live: LiveServer,
  {
    tool,
    shown,
    agreed,
    from,
    signal,
  }: {
    readonly tool: string;
    /** Its name for a model. */ readonly shown: string;
    readonly agreed: string;
    readonly from: ToolServer;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  if (live.hashes().get(tool) === agreed) return;
  // Some servers announce tools a moment after they started.
  await from.server.settle(signal);
  const now = live.hashes().get(tool);
  if (now === agreed) return;
  const why =
    now === undefined
      ? `The MCP server ${from.name} does not offer ${shown} any more`
      : `The MCP server ${from.name} changed ${shown}, so it is off until the owner agrees`;
  const remedy = from.remedy ?? `To agree, the owner runs: ${assistantCommand(`mcp trust ${from.name}`)}`;
  const own = `${why}. ${remedy}`;
  throw new OwnWordsError('mcp-tool', { said: '', own });
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
    ...common(from, true),
    name,
    description: `Read a resource, such as a file or a record, of the MCP server ${from.name}; without a URI, list its resources. Use it when a tool or the person names one.`,
    parameters,
    jsonSchema: toJsonSchema(parameters),
    execute: ({ uri }, context) =>
      from.server.run(context, async ({ connection }, options) => {
        const about = callTo('read_resource', from, context);
        if (uri === undefined) return listResult(await connection.resources(options), about);
        return await resourceResult(await connection.readResource(uri, options), about);
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
    ...common(from, true),
    name,
    description: `Get a prompt, which is a prepared text with instructions, of the MCP server ${from.name}; without a name, list its prompts. Use it when the person wants one.`,
    parameters,
    jsonSchema: toJsonSchema(parameters),
    execute: (params, context) =>
      from.server.run(context, async ({ connection }, options) => {
        const about = callTo('get_prompt', from, context);
        if (params.name === undefined) return listResult(await connection.prompts(options), about);
        return await promptResult(await connection.getPrompt(params.name, params.arguments ?? {}, options), about);
      }),
  });
}

/** A server's word that something only reads counts where the owner says so. */
function common(
  { settings: { trusted, role, timeouts } }: ToolServer,
  onlyReads: boolean,
): Pick<Tool, 'effect' | 'role' | 'timeoutMs' | 'untrusted' | 'source'> {
  const { startSeconds, callSeconds } = timeouts;
  return {
    effect: trusted && onlyReads ? 'none' : 'effect',
    role,
    // The server's own deadlines come before it; a question in the middle of a call takes its time.
    timeoutMs: (startSeconds + callSeconds) * 1000 + QUESTION_MS + MARGIN_MS,
    untrusted: true,
    source: 'an MCP server',
  };
}

function callTo(what: string, { name, keep }: ToolServer, context: ToolContext): AnsweredCall {
  return { server: name, what, context, keep };
}

/**
 * The name under which a model sees a server's tool: `mcp_<server>_<tool>`, of letters, digits, `_` and `-`, at most 64
 * characters. One that had to be cut, or that is taken, ends with a hash of the two true names.
 */
export function toolName(server: string, tool: string, isTaken: (name: string) => boolean = () => false): string {
  const plain = `mcp_${server}_${tool}`.replace(/[^\w-]/gu, '_');
  if (plain.length <= LONGEST && !isTaken(plain)) return plain;
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, HASH_DIGITS);
  return `${plain.slice(0, LONGEST - HASH_DIGITS - 1)}_${hash}`;
}

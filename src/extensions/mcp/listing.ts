import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import * as z from 'zod';
import { oneLine } from '../../core/api.ts';
import { approvalHash } from '../../core/api-clients.ts';

/** The tool by which a model reads a server's resources. */
export const READ_RESOURCE = 'read_resource';

const object = z.record(z.string(), z.unknown()).catch({});
const word = z.string().catch('');

/** A tool as its server describes it. A tool without a valid `inputSchema` isn't offered to a model. */
const foreignTool = z.object({
  name: z.string().min(1),
  description: word,
  inputSchema: object,
  /** Hints of the server about itself, such as `readOnlyHint`. */
  annotations: object,
});
export type ForeignTool = z.output<typeof foreignTool>;

/** What a server offers: tools, and whether it has resources to read and prompts. */
export const listingSchema = z.object({
  tools: z.array(foreignTool),
  resources: z.boolean(),
  prompts: z.boolean(),
});
export type Listing = z.output<typeof listingSchema>;

/** How what a server offers now differs from what the owner agreed to. Names of tools, and `(resources)`, `(prompts)`. */
export interface Difference {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** Names of the tools that only read, according to the server. */
export function readOnlyIn({ tools, resources }: Listing): readonly string[] {
  const reads = tools.filter(({ annotations: { readOnlyHint, destructiveHint } }) => {
    return readOnlyHint === true && destructiveHint !== true;
  });
  return [...reads.map(({ name }) => name), ...(resources ? [READ_RESOURCE] : [])];
}

/** Lines for people: which tools will need no approval once the owner agrees, and which still will. */
export function readOnlyLines(listing: Listing): readonly string[] {
  const reads = readOnlyIn(listing);
  const named = (names: readonly string[]): string => names.map((name) => oneLine(name, 80)).join(', ') || 'none';
  const others = listing.tools.map(({ name }) => name).filter((name) => !reads.includes(name));
  return [
    `Only read, according to the server, so they need no approval: ${named(reads)}`,
    `Change something, so they need approval in a private conversation with text from others: ${named(others)}`,
  ];
}

/** Of everything about a tool that a model sees or a decision rests on; the order of keys doesn't matter. */
export function toolHash({ name, description, inputSchema, annotations }: ForeignTool): string {
  return approvalHash({ name, description, inputSchema, annotations });
}

/** Of a whole listing; the order of its tools doesn't matter. */
export function listingHash(listing: Listing): string {
  return approvalHash(Object.fromEntries(hashes(listing)));
}

export function difference(agreed: Listing, live: Listing): Difference {
  const [before, now] = [hashes(agreed), hashes(live)];
  return {
    added: [...now.keys()].filter((name) => !before.has(name)),
    changed: [...now.keys()].filter((name) => before.has(name) && before.get(name) !== now.get(name)),
    removed: [...before.keys()].filter((name) => !now.has(name)),
  };
}

function hashes({ tools, resources, prompts }: Listing): ReadonlyMap<string, string> {
  return new Map([
    ...tools.map((tool) => [tool.name, toolHash(tool)] as const),
    ...(resources ? [['(resources)', ''] as const] : []),
    ...(prompts ? [['(prompts)', ''] as const] : []),
  ]);
}

/** The SDK's own timers aren't used where a signal is the deadline. Below 2^31. */
export const FOREVER_MS = 2_000_000_000;
const MOST_ITEMS = 1_000;
const MOST_PAGES = 100;

/** A resource, a template of resources or a prompt. */
const listedItem = z.object({
  uri: z.string().optional(),
  uriTemplate: z.string().optional(),
  name: word,
  mimeType: word,
  description: word,
  /** What a prompt takes. */
  arguments: z.array(z.object({ name: z.string(), required: z.boolean().catch(false) })).catch([]),
});

/** Of two tools with one name the first counts. */
export async function listingOf(client: Client, options: RequestOptions): Promise<Listing> {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const found = tools === undefined ? [] : await listAll(client, 'tools', foreignTool, options);
  return {
    tools: [...new Map(found.toReversed().map((tool) => [tool.name, tool])).values()].toReversed(),
    resources: resources !== undefined,
    prompts: prompts !== undefined,
  };
}

/** A line for each resource, template of one or prompt: its URI or name, and what it is. */
export async function listLines(
  client: Client,
  what: 'resources' | 'prompts',
  options: RequestOptions,
): Promise<string> {
  const items = [...(await listAll(client, what, listedItem, options))];
  // Not every server with resources knows templates.
  if (what === 'resources') items.push(...(await listAll(client, 'templates', listedItem, options).catch(() => [])));
  options.signal?.throwIfAborted();
  const lines = items.map(({ uri, uriTemplate, name, mimeType, description, arguments: takes }) => {
    const id = uri ?? uriTemplate;
    const fields = takes.map((field) => `takes ${field.name}${field.required ? ' (required)' : ''}`);
    const about = [id === undefined ? '' : name, mimeType, description, ...fields].filter((part) => part !== '');
    return about.length === 0 ? (id ?? name) : `${id ?? name}: ${oneLine(about.join('; '), 300)}`;
  });
  return lines.length === 0 ? 'There are none.' : lines.join('\n');
}

const METHODS = {
  tools: ['tools/list', 'tools'],
  resources: ['resources/list', 'resources'],
  templates: ['resources/templates/list', 'resourceTemplates'],
  prompts: ['prompts/list', 'prompts'],
} as const;

/** The items of all pages that can be read, up to a cap; a server that repeats a cursor isn't followed. */
async function listAll<T>(
  client: Client,
  what: keyof typeof METHODS,
  item: z.ZodType<T>,
  options: RequestOptions,
): Promise<readonly T[]> {
  const [method, key] = METHODS[what];
  const page = z.looseObject({ nextCursor: z.string().optional().catch(undefined) });
  const all: unknown[] = [];
  const seen = new Set<string | undefined>();
  let cursor: string | undefined;
  do {
    seen.add(cursor);
    const params = cursor === undefined ? {} : { cursor };
    const { [key]: items, nextCursor } = await client.request({ method, params }, page, options);
    all.push(...listOf(items));
    cursor = nextCursor;
  } while (cursor !== undefined && !seen.has(cursor) && seen.size < MOST_PAGES && all.length < MOST_ITEMS);
  return all.slice(0, MOST_ITEMS).flatMap((one) => item.safeParse(one).data ?? []);
}

/** A list as servers send it: one thing may stand for a list of one, and nothing for an empty list. */
export function listOf(given: unknown): readonly unknown[] {
  return given === undefined || given === null ? [] : [given].flat();
}

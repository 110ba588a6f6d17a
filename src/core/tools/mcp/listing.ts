import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import * as z from 'zod';
import { approvalHash } from '../../security/access/approval-hash.ts';
import { oneLine } from '../../util/text.ts';

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

/** Of everything about a tool that a model sees or a decision rests on; the order of keys doesn't matter. */
export function toolHash({ name, description, inputSchema, annotations }: ForeignTool): string {
  return approvalHash({ name, description, inputSchema, annotations });
}

/** Of a whole listing; the order of its tools doesn't matter. */
export function listingHash({ tools, resources, prompts }: Listing): string {
  return approvalHash({ tools: tools.map(toolHash).toSorted(), resources, prompts });
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
  const rest = [...(resources ? ['(resources)'] : []), ...(prompts ? ['(prompts)'] : [])];
  return new Map([...tools, ...rest].map((one) => (typeof one === 'string' ? [one, ''] : [one.name, toolHash(one)])));
}

/** The SDK's own timers aren't used; the callers' signals are the deadlines. Below 2^31. */
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
export async function listingOf(client: Client, signal: AbortSignal): Promise<Listing> {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const options = { signal, timeout: FOREVER_MS };
  const found = tools === undefined ? [] : await listAll(client, 'tools', foreignTool, options);
  return {
    tools: [...new Map(found.toReversed().map((tool) => [tool.name, tool])).values()].toReversed(),
    resources: resources !== undefined,
    prompts: prompts !== undefined,
  };
}

/** A line for each resource: its URI, or the template of one, and what it is. */
export async function listResources(client: Client, options: RequestOptions): Promise<readonly string[]> {
  const plain = await listAll(client, 'resources', listedItem, options);
  // Not every server with resources knows templates.
  const templates = await listAll(client, 'resourceTemplates', listedItem, options).catch(() => []);
  options.signal?.throwIfAborted();
  return [...plain, ...templates].map(({ uri, uriTemplate = '', name, mimeType, description }) =>
    line(uri ?? uriTemplate, name, mimeType, description),
  );
}

/** A line for each prompt: its name, what it is, and what it takes. */
export async function listPrompts(client: Client, options: RequestOptions): Promise<readonly string[]> {
  const prompts = await listAll(client, 'prompts', listedItem, options);
  return prompts.map(({ name, description, arguments: takes }) =>
    line(name, description, ...takes.map((field) => `takes ${field.name}${field.required ? ' (required)' : ''}`)),
  );
}

const METHODS = {
  tools: 'tools/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
} as const;

/** The items of all pages that can be read, up to a cap; a server that repeats a cursor isn't followed. */
async function listAll<T>(
  client: Client,
  key: keyof typeof METHODS,
  item: z.ZodType<T>,
  options: RequestOptions,
): Promise<readonly T[]> {
  const all: unknown[] = [];
  const seen = new Set<string | undefined>();
  const page = z.looseObject({ nextCursor: z.string().optional().catch(undefined) });
  let cursor: string | undefined;
  do {
    seen.add(cursor);
    const params = cursor === undefined ? {} : { cursor };
    const { [key]: items, nextCursor } = await client.request({ method: METHODS[key], params }, page, options);
    all.push(...listOf(items));
    cursor = nextCursor;
  } while (cursor !== undefined && !seen.has(cursor) && seen.size < MOST_PAGES && all.length < MOST_ITEMS);
  return all.slice(0, MOST_ITEMS).flatMap((one) => item.safeParse(one).data ?? []);
}

/** A list as servers send it: one thing may stand for a list of one, and nothing for an empty list. */
export function listOf(given: unknown): readonly unknown[] {
  if (Array.isArray(given)) return given;
  return given === undefined || given === null ? [] : [given];
}

function line(id: string, ...about: readonly string[]): string {
  const parts = about.filter((part) => part !== '').join('; ');
  return parts === '' ? id : `${id}: ${oneLine(parts, 300)}`;
}

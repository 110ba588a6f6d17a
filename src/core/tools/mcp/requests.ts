import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import * as z from 'zod';
import type { Listing } from './trust-store.ts';

/** The SDK's own timers aren't used; the callers' signals are the deadlines. Below 2^31. */
export const FOREVER_MS = 2_000_000_000;
const MOST_ITEMS = 1_000;
const MOST_PAGES = 100;

/**
 * Lists of answers. Their items are read one by one, so that one piece that is unknown or broken doesn't cost the
 * others.
 */
const list = z.preprocess(
  (given) => (Array.isArray(given) ? given : given === undefined || given === null ? [] : [given]),
  z.array(z.unknown()),
);
const callAnswer = z.looseObject({
  content: list,
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional().catch(undefined),
});
const resourceAnswer = z.looseObject({ contents: list });
const promptAnswer = z.looseObject({ messages: list });
export type CallAnswer = z.output<typeof callAnswer>;
export type ResourceAnswer = z.output<typeof resourceAnswer>;
export type PromptAnswer = z.output<typeof promptAnswer>;

const page = z.looseObject({ nextCursor: z.string().optional().catch(undefined) });
const object = z.record(z.string(), z.unknown()).catch({});
const listedTool = z.object({
  name: z.string().min(1),
  description: z.string().catch(''),
  /** A tool without a valid schema isn't offered to a model. */
  inputSchema: object,
  annotations: object,
});
const word = z.string().catch('');
const listedItem = z.object({
  ...{ uri: z.string().optional(), uriTemplate: z.string().optional() },
  ...{ name: word, mimeType: word, description: word },
  /** What a prompt takes. */
  arguments: z.array(z.object({ name: z.string(), required: z.boolean().catch(false) })).catch([]),
});

/** A resource or a prompt as it is listed. */
export interface Offered {
  /** The URI, its template, or the name of a prompt. */
  readonly id: string;
  /** What it is, and what it takes. */
  readonly about: string;
}

/** What the server offers. Of two tools with one name the first counts. */
export async function listingOf(client: Client, signal: AbortSignal): Promise<Listing> {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const options = { signal, timeout: FOREVER_MS };
  const found = tools === undefined ? [] : await listAll(client, 'tools', listedTool, options);
  return {
    tools: [...new Map(found.toReversed().map((tool) => [tool.name, tool])).values()].toReversed(),
    resources: resources !== undefined,
    prompts: prompts !== undefined,
  };
}

export function callTool(
  client: Client,
  name: string,
  args: Readonly<Record<string, unknown>>,
  options: RequestOptions,
): Promise<CallAnswer> {
  return client.request({ method: 'tools/call', params: { name, arguments: { ...args } } }, callAnswer, options);
}

export async function listResources(client: Client, options: RequestOptions): Promise<readonly Offered[]> {
  const plain = await listAll(client, 'resources', listedItem, options);
  // Not every server with resources knows templates.
  const templates = await listAll(client, 'resourceTemplates', listedItem, options).catch(() => []);
  options.signal?.throwIfAborted();
  return [...plain, ...templates].flatMap(({ uri, uriTemplate, name, mimeType, description }) => {
    const id = uri ?? uriTemplate;
    return id === undefined ? [] : [{ id, about: joined(name, mimeType, description) }];
  });
}

export function readResource(client: Client, uri: string, options: RequestOptions): Promise<ResourceAnswer> {
  return client.request({ method: 'resources/read', params: { uri } }, resourceAnswer, options);
}

export async function listPrompts(client: Client, options: RequestOptions): Promise<readonly Offered[]> {
  const prompts = await listAll(client, 'prompts', listedItem, options);
  return prompts.map(({ name, description, arguments: takes }) => {
    const fields = takes.map((field) => `takes ${field.name}${field.required ? ' (required)' : ''}`);
    return { id: name, about: joined(description, ...fields) };
  });
}

export function getPrompt(
  client: Client,
  name: string,
  args: Readonly<Record<string, string>>,
  options: RequestOptions,
): Promise<PromptAnswer> {
  return client.request({ method: 'prompts/get', params: { name, arguments: { ...args } } }, promptAnswer, options);
}

const METHODS = {
  tools: 'tools/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
} as const;

/** The readable items of all pages, up to a cap; a server that repeats a cursor isn't followed. */
async function listAll<T>(
  client: Client,
  key: keyof typeof METHODS,
  item: z.ZodType<T>,
  options: RequestOptions,
): Promise<readonly T[]> {
  const all: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let at = 0; at < MOST_PAGES && all.length < MOST_ITEMS; at += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const { [key]: items, nextCursor } = await client.request({ method: METHODS[key], params }, page, options);
    all.push(...list.parse(items));
    if (nextCursor === undefined || seen.has(nextCursor)) break;
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  return all.slice(0, MOST_ITEMS).flatMap((one) => item.safeParse(one).data ?? []);
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('; ');
}

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import type { ForeignTool, Listing } from './listing.ts';

/** The SDK's own timers are not used; the callers' signals are the deadlines. Below 2^31. */
export const FOREVER_MS = 2_000_000_000;

const MOST_TOOLS = 1_000;
const MOST_PAGES = 100;

/**
 * Answers as far as they have to be understood at once. What stands in a list is looked at one by one, so that one
 * piece that is unknown or broken costs no other.
 */
const list = z
  .union([
    z.array(z.unknown()),
    z.unknown().transform((one): unknown[] => (one === undefined || one === null ? [] : [one])),
  ])
  .default([]);
const callAnswer = z.looseObject({
  content: list,
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional().catch(undefined),
});
const resourceAnswer = z.looseObject({ contents: list });
const promptAnswer = z.looseObject({ messages: list });
const toolsPage = z.looseObject({ tools: list, nextCursor: z.string().optional().catch(undefined) });
const listedTool = z.looseObject({
  name: z.string().min(1),
  description: z.string().catch(''),
  /** One that is none reaches no model. */
  inputSchema: z.record(z.string(), z.unknown()).catch({}),
  annotations: z.record(z.string(), z.unknown()).catch({}),
});
export type CallAnswer = z.output<typeof callAnswer>;
export type ResourceAnswer = z.output<typeof resourceAnswer>;
export type PromptAnswer = z.output<typeof promptAnswer>;

export interface ServerCallOptions {
  /** Aborting tells the server that no one waits any more. */
  readonly signal: AbortSignal;
  /** @default no one is told */
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A server that can be asked. Every request rejects when the connection ends, or with the signal's reason. */
export interface Connection {
  /** Its own name and version, as it says. */
  readonly server: string;
  readonly listing: (signal: AbortSignal) => Promise<Listing>;
  readonly call: (
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: ServerCallOptions,
  ) => Promise<CallAnswer>;
  readonly resources: (options: ServerCallOptions) => Promise<readonly Offered[]>;
  readonly readResource: (uri: string, options: ServerCallOptions) => Promise<ResourceAnswer>;
  readonly prompts: (options: ServerCallOptions) => Promise<readonly Offered[]>;
  readonly getPrompt: (
    name: string,
    args: Readonly<Record<string, string>>,
    options: ServerCallOptions,
  ) => Promise<PromptAnswer>;
  /** Resolves when the server is alive. */
  readonly ping: (signal: AbortSignal) => Promise<unknown>;
  /** Ends it, and for a local server everything that it started. */
  readonly close: () => Promise<void>;
}

/** A resource or a prompt as it is listed. */
export interface Offered {
  /** The URI, its template, or the name of a prompt. */
  readonly id: string;
  /** What it is, and what it takes. */
  readonly about: string;
}

export function openConnection(client: Client, { close }: { readonly close: () => Promise<void> }): Connection {
  const capabilities = client.getServerCapabilities() ?? {};
  const { name = 'unnamed', version = '' } = client.getServerVersion() ?? {};
  return {
    server: `${name} ${version}`.trim(),
    close,
    ping: (signal) => client.ping({ signal, timeout: FOREVER_MS }),
    listing: async (signal) => ({
      tools: capabilities.tools === undefined ? [] : await listTools(client, signal),
      resources: capabilities.resources !== undefined,
      prompts: capabilities.prompts !== undefined,
    }),
    call: (tool, args, options) =>
      client.request(
        { method: 'tools/call', params: { name: tool, arguments: { ...args } } },
        callAnswer,
        sdkOptions(options),
      ),
    resources: async (options) => [
      ...(await pages(async (cursor) => {
        const request = { method: 'resources/list' as const, params: cursor };
        const { resources, nextCursor } = await client.request(request, ListResourcesResultSchema, sdkOptions(options));
        return { items: resources.map(({ uri, ...about }) => ({ id: uri, about: describe(about) })), nextCursor };
      })),
      ...(await templates(client, options)),
    ],
    readResource: (uri, options) =>
      client.request({ method: 'resources/read', params: { uri } }, resourceAnswer, sdkOptions(options)),
    prompts: (options) =>
      pages(async (cursor) => {
        const request = { method: 'prompts/list' as const, params: cursor };
        const { prompts, nextCursor } = await client.request(request, ListPromptsResultSchema, sdkOptions(options));
        const items = prompts.map(({ name, description = '', arguments: takes = [] }) => {
          const fields = takes.map((field) => `${field.name}${field.required === true ? ' (required)' : ''}`);
          const about = [description, ...fields.map((field) => `takes ${field}`)].filter((part) => part !== '');
          return { id: name, about: about.join('; ') };
        });
        return { items, nextCursor };
      }),
    getPrompt: (name, args, options) =>
      client.request(
        { method: 'prompts/get', params: { name, arguments: { ...args } } },
        promptAnswer,
        sdkOptions(options),
      ),
  };
}

/** Of two tools with one name the first counts. */
async function listTools(client: Client, signal: AbortSignal): Promise<ForeignTool[]> {
  const all = await pages(async (cursor) => {
    const request = { method: 'tools/list' as const, params: cursor };
    const options = sdkOptions({ signal });
    const { tools, nextCursor } = await client.request(request, toolsPage, options);
    const items = tools.flatMap((tool) => {
      const { success, data } = listedTool.safeParse(tool);
      if (!success) return [];
      const { name, description, inputSchema, annotations } = data;
      return [{ name, description, inputSchema, annotations }];
    });
    return { items, nextCursor };
  });
  const seen = new Set<string>();
  return all.filter(({ name }) => !seen.has(name) && seen.add(name));
}

/** Not every server with resources knows templates. */
async function templates(client: Client, options: ServerCallOptions): Promise<readonly Offered[]> {
  try {
    const request = { method: 'resources/templates/list' as const };
    const { resourceTemplates } = await client.request(request, ListResourceTemplatesResultSchema, sdkOptions(options));
    return resourceTemplates.map(({ uriTemplate, ...about }) => ({ id: uriTemplate, about: describe(about) }));
  } catch {
    options.signal.throwIfAborted();
    return [];
  }
}

function describe({
  name,
  description,
  mimeType,
}: {
  readonly name: string;
  readonly description?: string;
  readonly mimeType?: string;
}): string {
  return [name, mimeType, description].filter((part) => part !== undefined && part !== '').join('; ');
}

/** All pages up to a cap; a server that repeats a cursor is not followed. */
async function pages<T>(
  next: (cursor: { cursor?: string }) => Promise<{ items: readonly T[]; nextCursor: string | undefined }>,
): Promise<T[]> {
  const all: T[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && all.length < MOST_TOOLS; page += 1) {
    const { items, nextCursor } = await next(cursor === undefined ? {} : { cursor });
    all.push(...items);
    if (nextCursor === undefined || seen.has(nextCursor)) break;
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  return all.slice(0, MOST_TOOLS);
}

function sdkOptions({ signal, onProgress }: ServerCallOptions): RequestOptions {
  return { signal, timeout: FOREVER_MS, ...(onProgress === undefined ? {} : { onprogress: onProgress }) };
}

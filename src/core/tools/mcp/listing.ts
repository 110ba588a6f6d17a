import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Difference } from './server-facts.ts';

/** A tool as its server describes it. */
const foreignToolSchema = z.object({
  name: z.string(),
  description: z.string().default(''),
  inputSchema: z.record(z.string(), z.unknown()),
  /** Hints of the server about itself, such as `readOnlyHint`. */
  annotations: z.record(z.string(), z.unknown()).default({}),
});
export type ForeignTool = z.output<typeof foreignToolSchema>;

/** What a server offers. */
export const listingSchema = z.object({
  tools: z.array(foreignToolSchema),
  /** It has resources to read. */
  resources: z.boolean(),
  /** It has prompts. */
  prompts: z.boolean(),
});
export type Listing = z.output<typeof listingSchema>;

export const NO_LISTING: Listing = { tools: [], resources: false, prompts: false };

/** Of everything about a tool that a model sees or a decision rests on; the order of keys does not matter. */
export function toolHash({ name, description, inputSchema, annotations }: ForeignTool): string {
  return hashOfJson([name, description, inputSchema, annotations]);
}

/** Of a whole listing; the order of its tools does not matter. */
export function listingHash({ tools, resources, prompts }: Listing): string {
  return hashOfJson([tools.map(toolHash).toSorted(), resources, prompts]);
}

/** SHA-256 in hex of plain data, independent of the order of its keys. */
export function hashOfJson(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

export function difference(pinned: Listing, live: Listing): Difference {
  const before = parts(pinned);
  const now = parts(live);
  return {
    added: [...now.keys()].filter((name) => !before.has(name)),
    changed: [...now].flatMap(([name, hash]) => (before.has(name) && before.get(name) !== hash ? [name] : [])),
    removed: [...before.keys()].filter((name) => !now.has(name)),
  };
}

export function differs({ added, changed, removed }: Difference): boolean {
  return added.length + changed.length + removed.length > 0;
}

function parts({ tools, resources, prompts }: Listing): ReadonlyMap<string, string> {
  return new Map([
    ...tools.map((tool) => [tool.name, toolHash(tool)] as const),
    ...(resources ? [['(resources)', ''] as const] : []),
    ...(prompts ? [['(prompts)', ''] as const] : []),
  ]);
}

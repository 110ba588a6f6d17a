import * as z from 'zod';
import { storeAddressTrouble } from '../../storage/store-address.ts';

/** Small building blocks of the schema. Custom errors say what was expected; `problems.ts` adds what was given. */

export const text = () => z.string().min(1, { error: 'expected a text that is not empty' });

/**
 * When a changed setting takes effect. `live`: with the next turn, and at once where it gives or takes rights. `rebuild`: at
 * once, by starting anew the channel, the MCP server or the providers that it belongs to. `restart`: with the next start.
 */
export type Effect = 'live' | 'rebuild' | 'restart';

const EFFECTS = new WeakMap<z.ZodType, Effect>();

/** Says when a setting, and what is below it, takes effect; what is marked further down is an exception. */
export function takes<T extends z.ZodType>(effect: Effect, schema: T): T {
  EFFECTS.set(schema, effect);
  return schema;
}

/** The mark of this very schema; undefined where it has none. */
export function markedEffect(schema: unknown): Effect | undefined {
  return schema instanceof z.ZodType ? EFFECTS.get(schema) : undefined;
}

/** A text that is not empty, or null for "not set". @default null */
export const optionalText = (doc: string) => text().nullable().default(null).describe(doc);

export const httpUrl = () => z.url({ protocol: /^https?$/u, error: 'expected an http:// or https:// address' });

export const optionalUrl = (doc: string) => httpUrl().nullable().default(null).describe(doc);

/** An address of PostgreSQL, or null for "not set". @default null */
export const storeAddress = () =>
  text()
    .check(({ value, issues }) => {
      const trouble = storeAddressTrouble(value);
      if (trouble !== null) issues.push({ code: 'custom', message: `expected ${trouble}`, input: value });
    })
    .nullable()
    .default(null);

export const flag = (value: boolean, doc: string) => z.boolean().default(value).describe(doc);

/** A whole number from `min` to `max` (unlimited if left out); `value` is the default. */
export const count = (value: number, min: number, doc: string, max?: number) =>
  whole(min, max).default(value).describe(doc);

export const optionalCount = (doc: string) => whole(1).nullable().default(null).describe(doc);

/** A whole number of at least 1 with a default, or null for no limit. */
export const limited = (value: number, doc: string) => whole(1).nullable().default(value).describe(doc);

/** An amount of US dollars; null is no limit. */
export const optionalUsd = (doc: string) => z.number().positive().nullable().default(null).describe(doc);

export const texts = (doc: string, value: string[] = []) => z.array(text()).default(value).describe(doc);

export const textMap = (doc: string) => z.record(z.string(), z.string()).default({}).describe(doc);

/** A list of immutable ids of people or chats, as text. Numbers are converted if JavaScript can hold them exactly. @default [] */
export const ids = (doc: string) =>
  z
    .array(
      z.union([text(), z.int().transform(String)], {
        error: 'expected an id as text, e.g. "123456789" (put long numbers in quotes)',
      }),
    )
    .default([])
    .describe(doc);

function whole(min: number, max?: number) {
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  const error = `expected a whole number ${range}`;
  const number = z.int({ error }).min(min, { error });
  return max === undefined ? number : number.max(max, { error });
}

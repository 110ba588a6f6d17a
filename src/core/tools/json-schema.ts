import { createRequire } from 'node:module';
import * as z from 'zod';
import type * as z3 from 'zod/v3';
import type * as zod3 from './zod3-schema.ts';
import { AppError } from '../util/errors.ts';
import { runnableFile } from '../util/runnable-file.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Cache, for several assistants in one process. */
const made = new WeakMap<z.ZodObject | z3.AnyZodObject, JsonObject>();

/**
 * Makes the JSON Schema (draft-7) for a model from a schema of zod 4 or, from plugins, zod 3. Leaves out what costs tokens
 * and does not help a model. Throws when properties of the schema would be lost.
 */
export function toJsonSchema(schema: z.ZodObject | z3.AnyZodObject): JsonObject {
  const known = made.get(schema);
  if (known !== undefined) return known;
  const fresh = convert(schema);
  made.set(schema, fresh);
  return fresh;
}

function convert(schema: z.ZodObject | z3.AnyZodObject): JsonObject {
  const fields = Object.keys(schema.shape);
  const json = isZod4(schema)
    ? z.toJSONSchema(schema, { io: 'input', target: 'draft-7' })
    : // The library's types name its own copy of zod 3.
      bridge().zodToJsonSchema(schema as never, { $refStrategy: 'none' });
  const stripped = strip(json);
  const properties = isObject(stripped) ? stripped['properties'] : undefined;
  if (!isObject(stripped) || !isObject(properties) || fields.some((field) => !(field in properties))) {
    throw new AppError(
      'tool-schema',
      'The parameters of a tool could not be turned into a JSON Schema; they must be a zod object.',
    );
  }
  return stripped;
}

/** The converter for zod 3, loaded when a plugin first needs it. */
function bridge(): typeof zod3 {
  return createRequire(import.meta.url)(runnableFile(new URL('./zod3-schema.ts', import.meta.url)));
}

function isZod4(schema: z.ZodObject | z3.AnyZodObject): schema is z.ZodObject {
  return '_zod' in schema;
}

/** Left out of the schema: descriptions name the ranges, and a call outside of a range gets an error that names it. */
const BOUNDS = new Set(
  'minLength maxLength minItems maxItems minimum maximum exclusiveMinimum exclusiveMaximum pattern'.split(' '),
);

/** Keywords that are left out when they have one of these values, which mean nothing. */
const EMPTY: Readonly<Record<string, readonly string[]>> = {
  additionalProperties: ['true', 'false', '{}'],
  default: ['{}'],
  propertyNames: ['{"type":"string"}'],
};

function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip);
  if (!isObject(value)) return value;
  const isSchema = typeof value['type'] === 'string';
  const kept = Object.entries(value).filter(
    ([key, entry]) =>
      !(isSchema && (key === '$schema' || BOUNDS.has(key) || EMPTY[key]?.includes(JSON.stringify(entry)) === true)),
  );
  return Object.fromEntries(kept.map(([key, entry]) => [key, strip(entry)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import { createRequire } from 'node:module';
import * as z from 'zod';
import type * as z3 from 'zod/v3';
import type * as zodBridge from 'zod-to-json-schema';
import { AppError } from '../../util/errors.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Of tools that several assistants in one process have. */
const made = new WeakMap<z.ZodObject | z3.AnyZodObject, JsonObject>();

/**
 * The JSON Schema (draft-7) that a model sees of a zod schema, from zod 4 or, as plugins bring them, zod 3. Stripped of
 * what costs tokens and tells a model nothing. Throws for a schema that would come out without properties it has.
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

/** Only plugins bring zod 3; nobody else waits for what reads it. */
function bridge(): typeof zodBridge {
  return createRequire(import.meta.url)('zod-to-json-schema');
}

function isZod4(schema: z.ZodObject | z3.AnyZodObject): schema is z.ZodObject {
  return '_zod' in schema;
}

/** Models keep to what a description says; a call outside of these is answered with the range. */
const BOUNDS = new Set(
  'minLength maxLength minItems maxItems minimum maximum exclusiveMinimum exclusiveMaximum pattern'.split(' '),
);

/** Dropped where it says nothing. */
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

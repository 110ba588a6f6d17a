import * as z from 'zod';
import { withoutInvisible } from '../../security/text/invisible.ts';
import { cut } from '../../util/text.ts';
import { isObject } from './messages.ts';
import type { ForeignTool } from './listing.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What a model is told of a tool. */
export interface ShownTool {
  readonly description: string;
  readonly parameters: JsonObject;
}

/** Characters of a tool's description. Those inside its schema get 40% of that, and none when it falls below 200. */
const LONGEST = 1_000;
const SHORTEST = 125;
/** Most characters for one tool, and for all of a server, as JSON. */
const MOST_FOR_TOOL = 6_000;
const MOST_FOR_SERVER = 60_000;

/** What all model APIs take as the name of a field. */
const FIELD = /^[\w.-]{1,64}$/u;
/** At the top of a tool's schema some APIs refuse these; the server checks them itself. */
const NOT_AT_TOP = new Set(['$schema', '$id', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const']);
/** Keywords whose keys are names that somebody chose. */
const NAMES_FIELDS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const ONE_SCHEMA = ['items', 'additionalProperties', 'contains', 'propertyNames', 'not', 'if', 'then', 'else'];
/** Keywords that hold values, not schemas. */
const HOLDS_DATA = new Set(['default', 'const', 'enum', 'example', 'examples']);
/** Lists that nothing would fit if they were empty. */
const NEVER_EMPTY = new Set(['type', 'enum', 'items', 'anyOf', 'oneOf', 'allOf']);
/** Lists of names or schemas. */
const HOLDS_NO_NULL = new Set(['required', 'anyOf', 'oneOf', 'allOf']);
const DESCRIBES = new Set(['description', 'title']);
/** Keywords that could take long to check. */
const NOT_CHECKED = new Set(['pattern', 'patternProperties', 'format', 'contentEncoding']);
const DEEPEST = 30;

const type = z.enum(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const inner = z.lazy((): z.ZodType => jsonSchema);
const shape = (keys: Iterable<string>, schema: z.ZodType): z.ZodRawShape =>
  Object.fromEntries(Array.from(keys, (key) => [key, schema.optional()]));
/** A model API refuses a whole request for one tool whose schema isn't put together like this. */
const jsonSchema = z.union([
  z.boolean(),
  z.looseObject({
    ...shape(['type'], z.union([type, z.array(type)])),
    ...shape(['required'], z.array(z.string())),
    ...shape(['enum'], z.array(z.unknown())),
    ...shape(NAMES_FIELDS, z.record(z.string(), inner)),
    ...shape(['anyOf', 'oneOf', 'allOf'], z.array(inner)),
    ...shape(ONE_SCHEMA, z.union([inner, z.array(inner)])),
  }),
]);

/**
 * Descriptions and schemas as a model gets them: as the server wrote them, with descriptions cut until each tool and the
 * whole server stay within their budgets. A tool that can't be shown is undefined.
 */
export function showTools(tools: readonly ForeignTool[]): readonly (ShownTool | undefined)[] {
  const usable = tools.filter(isUsable);
  const alone = usable.flatMap((tool) => fitted([tool], MOST_FOR_TOOL));
  const shown = JSON.stringify(alone).length <= MOST_FOR_SERVER ? alone : fitted(usable, MOST_FOR_SERVER);
  const byTool = new Map(usable.map((tool, at) => [tool, shown[at]]));
  return tools.map((tool) => byTool.get(tool));
}

function isUsable({ inputSchema }: ForeignTool): boolean {
  try {
    const bare = shownSchema(inputSchema, 0);
    return jsonSchema.safeParse(bare).success && JSON.stringify(bare).length <= MOST_FOR_TOOL * 2;
  } catch {
    // It isn't an object's, or nested too deeply.
    return false;
  }
}

/** The tools with all descriptions cut to the same length, which is halved until they stay within the budget. */
function fitted(tools: readonly ForeignTool[], budget: number): readonly ShownTool[] {
  for (let longest = LONGEST; ; longest /= 2) {
    const inside = longest < 200 ? 0 : longest * 0.4;
    const shown = tools.map(({ description, inputSchema }) => {
      return { description: shorten(description, longest), parameters: shownSchema(inputSchema, inside) };
    });
    if (longest <= SHORTEST || JSON.stringify(shown).length <= budget) return shown;
  }
}

/** A tool's schema in a form that strict APIs take, with descriptions of at most so many characters. */
function shownSchema(inputSchema: JsonObject, longest: number): JsonObject {
  const { properties = {}, required, ...rest } = mapped(inputSchema, (schema) => tidied(schema, longest));
  if ((rest['type'] ?? 'object') !== 'object') throw new TypeError('not the schema of an object');
  const names = fieldNames(inputSchema);
  const renamed = (name: unknown): string => names.get(String(name)) ?? String(name);
  const fields = isObject(properties)
    ? Object.entries(properties).map(([name, field]) => [renamed(name), field])
    : null;
  return {
    ...without(rest, NOT_AT_TOP),
    type: 'object',
    // Anything but an object makes the tool unusable.
    properties: fields === null ? properties : Object.fromEntries(fields),
    ...(required === undefined ? {} : { required: Array.isArray(required) ? required.map(renamed) : required }),
  };
}

/** The schema and all schemas inside it, each changed by `change`. */
function mapped(schema: JsonObject, change: (schema: JsonObject) => JsonObject, depth = 0): JsonObject {
  if (depth > DEEPEST) throw new RangeError('nested too deeply');
  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inside);
    return isObject(value) ? mapped(value, change, depth + 1) : value;
  };
  const entries = Object.entries(change(schema)).map(([key, value]) => {
    if (HOLDS_DATA.has(key)) return [key, value];
    return [key, NAMES_FIELDS.has(key) && isObject(value) ? mapValues(value, inside) : inside(value)];
  });
  return Object.fromEntries(entries);
}

/**
 * A schema with what servers often leave out or write as null: a keyword that is null or empty counts as absent, `any`
 * as no type, an array without `items` holds anything. Without invisible characters, since people read it too.
 */
function tidied(schema: JsonObject, longest: number): JsonObject {
  const kept = Object.entries(schema).filter(([key, value]) => !saysNothing(key, value));
  const entries = kept.map(([key, value]) => {
    if (DESCRIBES.has(key) && typeof value === 'string') return [key, shorten(value, longest)];
    if (NAMES_FIELDS.has(key) && isObject(value)) return [key, mapValues(value, (field) => field ?? {})];
    if (HOLDS_DATA.has(key) || typeof value === 'string') return [key, visible(value)];
    return [key, HOLDS_NO_NULL.has(key) && Array.isArray(value) ? value.filter((item) => item !== null) : value];
  });
  const { type: given, ...rest }: JsonObject = Object.fromEntries(entries);
  const types: readonly unknown[] = Array.isArray(given) ? given : [given];
  const items = types.includes('array') && rest['items'] === undefined ? { items: {} } : {};
  const typed = given === undefined || types.includes('any') ? {} : { type: given };
  return without({ ...typed, ...rest, ...items }, longest === 0 ? DESCRIBES : new Set());
}

/** PHP writes an empty object as a list; older drafts have `required` in each field. */
function saysNothing(key: string, value: unknown): boolean {
  if (value === null) return !HOLDS_DATA.has(key) || key === 'enum';
  if (key === 'required') return typeof value === 'boolean' || (isObject(value) && Object.keys(value).length === 0);
  if (Array.isArray(value)) return value.length === 0 && (NAMES_FIELDS.has(key) || NEVER_EMPTY.has(key));
  return key === 'type' && value === '';
}

/** The same data without invisible characters in its texts. */
function visible(value: unknown): unknown {
  if (typeof value === 'string') return withoutInvisible(value).text;
  if (Array.isArray(value)) return value.map(visible);
  return isObject(value) ? mapValues(value, visible) : value;
}

function shorten(text: string, limit: number): string {
  const { text: clean } = withoutInvisible(text);
  return clean.length <= limit ? clean : `${cut(clean, Math.max(0, limit - 1)).trimEnd()}…`;
}

/** The name that a model is shown for each field that some API refuses, such as `$filter`. */
function fieldNames({ properties }: JsonObject): ReadonlyMap<string, string> {
  const all = isObject(properties) ? Object.keys(properties) : [];
  const taken = new Set(all.filter((name) => FIELD.test(name)));
  const names = new Map<string, string>();
  for (const name of all.filter((given) => !FIELD.test(given))) {
    const plain = name.replace(/[^\w.-]+/gu, '_').slice(0, 56);
    let shown = plain;
    for (let n = 2; taken.has(shown); n += 1) shown = `${plain}_${n}`;
    taken.add(shown);
    names.set(name, shown);
  }
  return names;
}

/** The arguments of a call under the server's own names. */
export function forServer(inputSchema: JsonObject, params: JsonObject): JsonObject {
  const names = new Map([...fieldNames(inputSchema)].map(([name, shown]) => [shown, name]));
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [names.get(name) ?? name, value]));
}

/**
 * What a call's arguments are checked against before the server sees them: types, required fields and choices. A schema
 * that can't be read lets everything through; the server checks it itself.
 */
export function validatorOf(inputSchema: JsonObject): z.ZodObject {
  try {
    const schema = z.fromJSONSchema(mapped(shownSchema(inputSchema, 0), checkable));
    if (schema instanceof z.ZodObject) return schema;
  } catch {
    // Fall through.
  }
  return z.looseObject({});
}

/** Without what could take long (patterns). Only a required field's default is filled in; others are the server's business. */
function checkable(schema: JsonObject): JsonObject {
  const needed: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const { properties, ...rest } = without(schema, NOT_CHECKED);
  if (!isObject(properties)) return rest;
  const fields = Object.entries(properties).map(([name, field]) => {
    return [name, isObject(field) && !needed.includes(name) ? without(field, new Set(['default'])) : field];
  });
  return { ...rest, properties: Object.fromEntries(fields) };
}

function mapValues(values: JsonObject, change: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}

function without(values: JsonObject, keys: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([key]) => !keys.has(key)));
}

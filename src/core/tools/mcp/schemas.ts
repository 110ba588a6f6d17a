import * as z from 'zod';
import { withoutInvisible } from '../../security/text/invisible.ts';
import { cut } from '../../util/text.ts';
import type { ForeignTool } from './listing.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What a model is told of a tool. */
export interface ShownTool {
  readonly description: string;
  readonly parameters: JsonObject;
}

/** Characters of a description of a tool, and of one inside its schema; from generous to bare. */
const LEVELS = [
  { tool: 1_000, inner: 400 },
  { tool: 600, inner: 160 },
  { tool: 300, inner: 60 },
  { tool: 120, inner: 0 },
] as const;
/** Most characters for one tool, and for all of a server, as JSON. */
const MOST_FOR_TOOL = 6_000;
const MOST_FOR_SERVER = 60_000;

/** What all model APIs take as the name of a field. */
const FIELD = /^[\w.-]{1,64}$/u;
/** At the top of a tool's schema some APIs refuse these; the server checks them itself. */
const NOT_AT_TOP = new Set(['$schema', '$id', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const']);

/**
 * Descriptions and schemas as a model gets them: as the server wrote them, with descriptions cut until one tool and the
 * whole server stay within their budgets. A tool that cannot be shown is undefined.
 */
export function showTools(tools: readonly ForeignTool[]): readonly (ShownTool | undefined)[] {
  const share = Math.min(MOST_FOR_TOOL, Math.floor(MOST_FOR_SERVER / Math.max(1, tools.length)));
  const generous = tools.map((tool) => showTool(tool, MOST_FOR_TOOL));
  if (sizeOf(generous) <= MOST_FOR_SERVER) return generous;
  return tools.map((tool) => showTool(tool, share));
}

function sizeOf(shown: readonly (ShownTool | undefined)[]): number {
  return shown.reduce((sum, tool) => sum + (tool === undefined ? 0 : JSON.stringify(tool).length), 0);
}

function showTool({ description, inputSchema: given }: ForeignTool, budget: number): ShownTool | undefined {
  const inputSchema = completed(given);
  if (inputSchema['type'] !== 'object' || !isSchema(inputSchema, 0)) return undefined;
  const properties = isObject(inputSchema['properties']) ? inputSchema['properties'] : {};
  const kept = Object.entries(inputSchema).filter(([key]) => !NOT_AT_TOP.has(key));
  const schema = { ...Object.fromEntries(kept), type: 'object', properties };
  let shown: ShownTool | undefined;
  for (const { tool, inner } of LEVELS) {
    shown = { description: shorten(description, tool), parameters: shortenInside(schema, inner) };
    if (JSON.stringify(shown).length <= budget) return shown;
  }
  return shown !== undefined && JSON.stringify(shown).length <= MOST_FOR_TOOL * 2 ? shown : undefined;
}

/**
 * A tool's schema with what servers often leave out or write as null: a keyword that is null or empty counts as absent,
 * `any` as no type, an array without `items` holds anything. Fields have names that all model APIs take.
 */
function completed(inputSchema: JsonObject): JsonObject {
  const schema = completedInside(inputSchema, false);
  const names = fieldNames(inputSchema);
  const renamed = (name: unknown): unknown => names.get(String(name)) ?? name;
  const { properties, required } = schema;
  const type = schema['type'] ?? 'object';
  return {
    ...schema,
    type,
    ...(isObject(properties)
      ? { properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [renamed(name), field])) }
      : {}),
    ...(Array.isArray(required) ? { required: required.map(renamed) } : {}),
  };
}

/** The name that a model is shown for each field that some API refuses, such as `$filter`. */
function fieldNames({ properties }: JsonObject): ReadonlyMap<string, string> {
  const all = isObject(properties) ? Object.keys(properties) : [];
  const taken = new Set(all.filter((name) => FIELD.test(name)));
  const names = new Map<string, string>();
  for (const name of all) {
    if (FIELD.test(name)) continue;
    const plain = name.replace(/[^\w.-]+/gu, '_').slice(0, 56);
    let shown = plain;
    for (let n = 2; taken.has(shown); n += 1) shown = `${plain}_${n}`;
    taken.add(shown);
    names.set(name, shown);
  }
  return names;
}

/** The arguments of a call as the server expects them: under its own names, with the defaults of required fields. */
export function forServer(inputSchema: JsonObject, params: JsonObject): JsonObject {
  const names = new Map([...fieldNames(inputSchema)].map(([name, shown]) => [shown, name]));
  const given = Object.fromEntries(Object.entries(params).map(([name, value]) => [names.get(name) ?? name, value]));
  return withDefaults(inputSchema, given);
}

/** The object with missing required fields set to their defaults, nested objects included. */
function withDefaults({ properties, required }: JsonObject, given: JsonObject): JsonObject {
  const fields = isObject(properties) ? properties : {};
  const inside = (schema: unknown, value: unknown): unknown => {
    if (!isObject(schema)) return value;
    if (Array.isArray(value)) return value.map((item) => inside(schema['items'], item));
    return isObject(value) ? withDefaults(schema, value) : value;
  };
  const needed = (Array.isArray(required) ? required : []).filter((name) => hasDefault(fields[String(name)]));
  return {
    ...Object.fromEntries(needed.map((name: unknown) => [String(name), defaultOf(fields[String(name)])])),
    ...Object.fromEntries(Object.entries(given).map(([name, value]) => [name, inside(fields[name], value)])),
  };
}

function defaultOf(field: unknown): unknown {
  return isObject(field) ? field['default'] : undefined;
}

function hasDefault(field: unknown): boolean {
  return defaultOf(field) !== undefined;
}

/** Keywords for which null is a value. */
const MAY_BE_NULL = new Set(['default', 'const', 'example', 'examples']);

/** Whether a keyword says nothing. PHP writes an empty object as a list; older drafts have `required` in each field. */
function saysNothing(key: string, item: unknown): boolean {
  if (item === null) return !MAY_BE_NULL.has(key);
  if (key === 'required') return typeof item === 'boolean' || (isObject(item) && Object.keys(item).length === 0);
  if (Array.isArray(item)) return item.length === 0 && (NAMES_FIELDS.has(key) || NEVER_EMPTY.has(key));
  return key === 'type' && item === '';
}

function completedInside(value: JsonObject, isFields: boolean): JsonObject {
  const entries = Object.entries(value).flatMap(([key, item]): (readonly [string, unknown])[] => {
    if (isFields && item === null) return [[key, {}]];
    if (!isFields && saysNothing(key, item)) return [];
    if (!isFields && MAY_BE_NULL.has(key)) return [[key, item]];
    const inside = (one: unknown): unknown =>
      isObject(one) ? completedInside(one, !isFields && NAMES_FIELDS.has(key)) : one;
    if (!Array.isArray(item)) return [[key, inside(item)]];
    const kept = !isFields && HOLDS_NO_NULL.has(key) ? item.filter((one) => one !== null) : item;
    return [[key, kept.map(inside)]];
  });
  const schema = Object.fromEntries(entries);
  if (isFields) return schema;
  const types: unknown = schema['type'];
  if (types === 'any' || (Array.isArray(types) && types.includes('any'))) delete schema['type'];
  const isArray = types === 'array' || (Array.isArray(types) && types.includes('array'));
  return isArray && schema['items'] === undefined ? { ...schema, items: {} } : schema;
}

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const ONE_SCHEMA = ['items', 'additionalProperties', 'contains', 'propertyNames', 'not', 'if', 'then', 'else'];
const DEEPEST = 30;

/** Whether it is put together as a JSON Schema; a model API refuses a whole request for one tool that is not. */
function isSchema(value: unknown, depth: number): boolean {
  if (typeof value === 'boolean') return true;
  if (!isObject(value) || depth > DEEPEST) return false;
  const inside = (schema: unknown): boolean => isSchema(schema, depth + 1);
  const { type, required } = value;
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  return (
    types.every((one) => TYPES.has(one)) &&
    (required === undefined || (Array.isArray(required) && required.every((name) => typeof name === 'string'))) &&
    (value['enum'] === undefined || Array.isArray(value['enum'])) &&
    [...NAMES_FIELDS].every(
      (key) => !(key in value) || (isObject(value[key]) && Object.values(value[key]).every(inside)),
    ) &&
    ['anyOf', 'oneOf', 'allOf'].every(
      (key) => !(key in value) || (Array.isArray(value[key]) && value[key].every(inside)),
    ) &&
    ONE_SCHEMA.every(
      (key) => !(key in value) || (Array.isArray(value[key]) ? value[key].every(inside) : inside(value[key])),
    )
  );
}

/** Everything can be seen; what is left out is marked. */
function shorten(text: string, limit: number): string {
  const { text: clean } = withoutInvisible(text);
  return clean.length <= limit ? clean : `${cut(clean, Math.max(0, limit - 1)).trimEnd()}…`;
}

/** The same schema with its descriptions cut; a field that is called `description` is none. */
function shortenInside(schema: JsonObject, limit: number): JsonObject {
  const walk = (value: unknown, isFields: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item) => walk(item, false));
    if (!isObject(value)) return typeof value === 'string' ? withoutInvisible(value).text : value;
    const entries = Object.entries(value).flatMap(([key, item]): (readonly [string, unknown])[] => {
      if (!isFields && (key === 'description' || key === 'title') && typeof item === 'string') {
        return limit === 0 ? [] : [[key, shorten(item, limit)]];
      }
      return [[key, walk(item, !isFields && NAMES_FIELDS.has(key))]];
    });
    return Object.fromEntries(entries);
  };
  const walked = walk(schema, false);
  return isObject(walked) ? walked : schema;
}

/** Lists that nothing would fit if they were empty. */
const NEVER_EMPTY = new Set(['type', 'enum', 'items', 'anyOf', 'oneOf', 'allOf']);
/** Lists of names or schemas. */
const HOLDS_NO_NULL = new Set(['required', 'anyOf', 'oneOf', 'allOf']);
/** Keywords whose keys are names that somebody chose. */
const NAMES_FIELDS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/**
 * What a call's arguments are checked against before the server sees them: types, required fields and choices. What
 * could take long (patterns) or change the arguments (defaults) is the server's business, as is a schema that cannot
 * be read.
 */
export function validatorOf(inputSchema: JsonObject): z.ZodObject {
  try {
    const plain = withoutKeywords(completed(inputSchema), false);
    const top = Object.entries(plain).filter(([key]) => !NOT_AT_TOP.has(key));
    const schema = z.fromJSONSchema({ ...Object.fromEntries(top), type: 'object' });
    if (schema instanceof z.ZodObject) return schema;
  } catch {
    // Fall through: everything goes.
  }
  return z.looseObject({});
}

const SERVERS_BUSINESS = new Set(['pattern', 'patternProperties', 'format', 'default', 'contentEncoding']);

function withoutKeywords(value: JsonObject, isFields: boolean): JsonObject {
  const entries = Object.entries(value)
    .filter(([key]) => isFields || !SERVERS_BUSINESS.has(key))
    .map(([key, item]) => [key, withoutKeywordsInside(item, !isFields && NAMES_FIELDS.has(key))] as const);
  const plain = Object.fromEntries(entries);
  const { properties, required } = value;
  if (isFields || !isObject(properties) || !Array.isArray(required)) return plain;
  // A required field with a default may be left out: `withDefaults` fills it in.
  return { ...plain, required: required.filter((name) => !hasDefault(properties[String(name)])) };
}

function withoutKeywordsInside(value: unknown, isFields: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutKeywordsInside(item, false));
  return isObject(value) ? withoutKeywords(value, isFields) : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

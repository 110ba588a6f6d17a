import * as z from 'zod';
import { cut } from '../../core/api.ts';
import { withoutInvisible } from '../../core/api-clients.ts';
import type { ForeignTool } from './listing.ts';
import { isObject } from './messages.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What a model is told of a tool. */
export interface ShownTool {
  readonly description: string;
  readonly parameters: JsonObject;
}

/** Characters of a tool's description, and of each one inside its schema. */
const LONGEST = 1_000;
const LONGEST_INSIDE = 400;
/** As short as a description gets, where there are too many. */
const SHORTEST = 125;
/** Characters for one tool, and for all of a server, as JSON. */
const MOST_FOR_TOOL = 6_000;
const MOST_FOR_SERVER = 60_000;
const DEEPEST = 30;

/** What all model APIs take as the name of a field. */
const FIELD = /^[\w.-]{1,64}$/u;
/** At the top of a tool's schema some APIs refuse these; the server checks them itself. */
const NOT_AT_TOP = new Set(['$schema', '$id', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const']);
const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
/** Keywords that could take long to check. */
const NOT_CHECKED = new Set(['pattern', 'patternProperties', 'format', 'contentEncoding']);

/** What the keywords of JSON Schema hold. `fields`: schemas by names that somebody chose. */
const HOLDS = new Map(
  Object.entries({
    fields: ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'],
    schema: ['items', 'additionalProperties', 'contains', 'propertyNames', 'not', 'if', 'then', 'else'],
    schemas: ['anyOf', 'oneOf', 'allOf', 'prefixItems'],
    data: ['default', 'const', 'example', 'examples'],
    words: ['description', 'title'],
    values: ['enum'],
    names: ['required'],
    type: ['type'],
  }).flatMap(([what, keywords]) => keywords.map((keyword) => [keyword, what] as const)),
);

/** Descriptions and schemas as a model gets them, with long descriptions cut. A tool that can't be shown is undefined. */
export function showTools(tools: readonly ForeignTool[]): readonly (ShownTool | undefined)[] {
  const [bare = [], full = []] = [0, 1].map((share) => tools.map((tool) => shownTool(tool, share)));
  const [least = 0, most = 0] = [bare, full].map((shown) => JSON.stringify(shown).length);
  const budget = Math.min(MOST_FOR_SERVER, MOST_FOR_TOOL * tools.length);
  const share = most <= budget ? 1 : Math.max(0, (budget - least) / (most - least));
  return tools.map((tool, at) => {
    return JSON.stringify(bare[at] ?? '').length > MOST_FOR_TOOL * 2 ? undefined : shownTool(tool, share);
  });
}

/** With descriptions of this share of their length, from 0 to 1. */
function shownTool({ description, inputSchema }: ForeignTool, share: number): ShownTool | undefined {
  try {
    const parameters = shownSchema(inputSchema, { longest: LONGEST_INSIDE * share });
    return { description: shorten(description, Math.max(SHORTEST, LONGEST * share)), parameters };
  } catch {
    // A model API refuses a whole request for one schema that isn't put together like one.
    return undefined;
  }
}

interface Style {
  /** Characters of a description; 0: there are none. */
  readonly longest: number;
  /** Without what could take long to check, and without defaults of fields that aren't required: they are the server's business. */
  readonly isForChecks?: true;
}

/** A tool's schema in a form that strict APIs take. Throws when it isn't an object's, or no schema. */
function shownSchema(inputSchema: JsonObject, style: Style): JsonObject {
  const { properties = {}, required, ...rest } = tidied(inputSchema, style);
  if ((rest['type'] ?? 'object') !== 'object') throw new TypeError('not the schema of an object');
  const names = fieldNames(inputSchema);
  const renamed = (name: unknown): string => names.get(String(name)) ?? String(name);
  const fields = Object.entries(properties as JsonObject).map(([name, field]) => [renamed(name), field]);
  return {
    ...without(rest, NOT_AT_TOP),
    type: 'object',
    properties: Object.fromEntries(fields),
    ...(Array.isArray(required) ? { required: required.map(renamed) } : {}),
  };
}

/**
 * A schema without what servers leave out, write as null or write otherwise: a keyword that is null or empty counts as
 * absent, `any` as no type, an array without `items` holds anything. Without invisible characters, since people read it too.
 */
function tidied(given: JsonObject, style: Style, depth = 0): JsonObject {
  if (depth > DEEPEST) throw new RangeError('nested too deeply');
  const inside = (value: unknown): unknown => {
    if (isObject(value)) return tidied(value, style, depth + 1);
    if (typeof value === 'boolean') return value;
    throw new TypeError('not a schema');
  };
  const entries = Object.entries(given).map(([key, value]) => [key, tidiedKeyword(key, value, { style, inside })]);
  const schema: JsonObject = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  const isOpen = [schema['type']].flat().includes('array') && schema['items'] === undefined;
  const withItems = isOpen ? { ...schema, items: {} } : schema;
  return style.isForChecks === true ? checkable(withItems) : withItems;
}

/** Undefined: it says nothing. */
function tidiedKeyword(
  key: string,
  value: unknown,
  { style, inside }: { readonly style: Style; readonly inside: (value: unknown) => unknown },
): unknown {
  const holds = HOLDS.get(key);
  if (holds === 'data') return visible(value);
  if (value === null) return undefined;
  if (holds === undefined) return visible(value);
  if (holds === 'words') return typeof value === 'string' ? shorten(value, style.longest) || undefined : undefined;
  if (holds === 'schema') return Array.isArray(value) ? value.map(inside) : inside(value);
  if (holds === 'type') {
    const types = [value].flat();
    if (types.length === 0 || types.includes('any') || value === '') return undefined;
    if (types.every((type) => TYPES.has(type))) return value;
    throw new TypeError('not a type');
  }
  // Older drafts have `required` in each field, and PHP writes an empty object as a list.
  if (holds === 'names' && (typeof value === 'boolean' || (isObject(value) && Object.keys(value).length === 0)))
    return undefined;
  const list = Array.isArray(value) ? value.filter((item) => item !== null || holds === 'values') : undefined;
  if (list?.length === 0 && holds !== 'names') return undefined;
  if (holds === 'fields' && isObject(value)) return mapValues(value, (field) => inside(field ?? {}));
  if (list === undefined || holds === 'fields') throw new TypeError(`not what ${key} holds`);
  if (holds === 'schemas') return list.map(inside);
  if (holds === 'names' && list.some((name) => typeof name !== 'string')) throw new TypeError('not a name');
  return visible(list);
}

function checkable({ properties, ...rest }: JsonObject): JsonObject {
  const needed: readonly unknown[] = Array.isArray(rest['required']) ? rest['required'] : [];
  if (!isObject(properties)) return without(rest, NOT_CHECKED);
  const fields = Object.entries(properties).map(([name, field]) => {
    return [name, isObject(field) && !needed.includes(name) ? without(field, new Set(['default'])) : field];
  });
  return { ...without(rest, NOT_CHECKED), properties: Object.fromEntries(fields) };
}

/** The same data without invisible characters in its texts. */
function visible(value: unknown): unknown {
  if (typeof value === 'string') return withoutInvisible(value).text;
  if (Array.isArray(value)) return value.map(visible);
  return isObject(value) ? mapValues(value, visible) : value;
}

function shorten(text: string, limit: number): string {
  const { text: clean } = withoutInvisible(text);
  return clean.length <= limit ? clean : limit < 1 ? '' : `${cut(clean, limit - 1).trimEnd()}…`;
}

/** The name that a model is shown for each field: some APIs refuse names such as `$filter`. */
function fieldNames({ properties }: JsonObject): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const name of isObject(properties) ? Object.keys(properties) : []) {
    let shown = FIELD.test(name) ? name : name.replace(/[^\w.-]+/gu, '_').slice(0, 56);
    while ([...names.values()].includes(shown)) shown += '_';
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
    const schema = z.fromJSONSchema(shownSchema(inputSchema, { longest: 0, isForChecks: true }));
    if (schema instanceof z.ZodObject) return schema;
  } catch {
    // Fall through.
  }
  return z.looseObject({});
}

function mapValues(values: JsonObject, change: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}

function without(values: JsonObject, keys: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([key]) => !keys.has(key)));
}

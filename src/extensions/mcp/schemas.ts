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

/** Characters of a tool's description. Those inside its schema get a share of that, and none at last. */
const LONGEST = 1_000;
const SHORTEST = 125;
const SHARE_INSIDE = 0.4;
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

/** Keywords for readers alone. */
const WORDS = new Set(['description', 'title']);
/** What the keywords of JSON Schema hold. `fields`: schemas by names that somebody chose. */
const HOLDS = new Map(
  Object.entries({
    fields: ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'],
    schema: ['items', 'additionalProperties', 'contains', 'propertyNames', 'not', 'if', 'then', 'else'],
    schemas: ['anyOf', 'oneOf', 'allOf', 'prefixItems'],
    data: ['default', 'const', 'example', 'examples'],
    values: ['enum'],
    names: ['required'],
    type: ['type'],
  }).flatMap(([what, keywords]) => keywords.map((keyword) => [keyword, what] as const)),
);

/**
 * Descriptions and schemas as a model gets them: long descriptions are cut, all by the same measure, until the tools stay
 * within a budget. A tool that can't be shown is undefined.
 */
export function showTools(tools: readonly ForeignTool[]): readonly (ShownTool | undefined)[] {
  const budget = Math.min(MOST_FOR_SERVER, MOST_FOR_TOOL * tools.length);
  for (let longest = LONGEST; ; longest /= 2) {
    const shown = tools.map((tool) => shownTool(tool, longest));
    if (longest <= SHORTEST || JSON.stringify(shown).length <= budget) return shown;
  }
}

function shownTool({ description, inputSchema }: ForeignTool, longest: number): ShownTool | undefined {
  try {
    const bare = JSON.stringify(shownSchema(inputSchema, { longest: 0 }));
    if (bare.length > MOST_FOR_TOOL * 2) return undefined;
    const parameters = shownSchema(inputSchema, { longest: longest <= SHORTEST ? 0 : longest * SHARE_INSIDE });
    return { description: shorten(description, longest), parameters };
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
  // Invisible characters are left out everywhere, since people read it too.
  const visible: unknown = JSON.parse(withoutInvisible(JSON.stringify(inputSchema)).text);
  const { properties = {}, required, ...rest } = tidied(visible, style);
  if ((rest['type'] ?? 'object') !== 'object') throw new TypeError('not the schema of an object');
  const names = fieldNames(inputSchema);
  const renamed = (name: unknown): string => names.get(String(name)) ?? String(name);
  const fields = Object.entries(Object(properties)).map(([name, field]) => [renamed(name), field]);
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([key]) => !NOT_AT_TOP.has(key))),
    type: 'object',
    properties: Object.fromEntries(fields),
    ...(required === undefined ? {} : { required: [required].flat().map(renamed) }),
  };
}

/**
 * A schema without what servers leave out, write as null or write otherwise: a keyword that is null or empty counts as
 * absent, `any` as no type, an array without `items` holds anything. Throws for what is no schema.
 */
function tidied(given: unknown, style: Style, depth = 0): JsonObject {
  if (!isObject(given) || depth > DEEPEST) throw new TypeError('not a schema');
  const inside = (value: unknown): unknown => {
    return typeof value === 'boolean' ? value : tidied(value ?? {}, style, depth + 1);
  };
  const entries = Object.entries(given).map(([key, value]) => {
    if (style.isForChecks === true && NOT_CHECKED.has(key)) return [key, undefined];
    if (WORDS.has(key))
      return [key, typeof value === 'string' && style.longest >= 1 ? shorten(value, style.longest) : undefined];
    return [key, tidiedKeyword(key, value, inside)];
  });
  const schema: JsonObject = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  const { properties, required } = schema;
  if (style.isForChecks === true && isObject(properties)) {
    for (const [name, field] of Object.entries(properties))
      if (isObject(field) && ![required].flat().includes(name)) Reflect.deleteProperty(field, 'default');
  }
  const isOpen = [schema['type']].flat().includes('array') && schema['items'] === undefined;
  return isOpen ? { ...schema, items: {} } : schema;
}

/** Undefined: it says nothing. */
function tidiedKeyword(key: string, value: unknown, inside: (value: unknown) => unknown): unknown {
  const holds = HOLDS.get(key);
  if (holds === 'data') return value;
  if (value === null) return undefined;
  if (holds === undefined) return value;
  const list = [value].flat().filter((item) => item !== null || holds === 'values');
  // PHP writes an empty object as a list; older drafts have `required` in each field.
  const isEmpty =
    holds === 'names'
      ? typeof value === 'boolean' || JSON.stringify(value) === '{}'
      : list.length === 0 || value === '';
  if (isEmpty || (holds === 'type' && list.includes('any'))) return undefined;
  switch (holds) {
    case 'schema':
      return Array.isArray(value) ? list.map(inside) : inside(value);
    case 'fields':
      if (!isObject(value)) break;
      return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, inside(field)]));
    case 'type':
      if (list.every((type) => TYPES.has(type))) return value;
      break;
    case 'names':
      if (Array.isArray(value) && list.every((name) => typeof name === 'string')) return list;
      break;
    default:
      if (Array.isArray(value)) return holds === 'schemas' ? list.map(inside) : list;
  }
  throw new TypeError(`not what ${key} holds`);
}

function shorten(text: string, limit: number): string {
  const { text: clean } = withoutInvisible(text);
  return clean.length <= limit ? clean : limit < 1 ? '' : `${cut(clean, limit - 1).trimEnd()}…`;
}

/** The name that a model is shown for each field: some APIs refuse names such as `$filter`. */
function fieldNames({ properties }: JsonObject): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  const names = Object.keys(isObject(properties) ? properties : {}).map((name) => {
    const plain = FIELD.test(name) ? name : name.replace(/[^\w.-]+/gu, '_').slice(0, 56);
    const shown = taken.has(plain) ? `${plain}_${taken.size}` : plain;
    taken.add(shown);
    return [name, shown] as const;
  });
  return new Map(names);
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

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
/** Keywords that hold values, not schemas. */
const HOLDS_DATA = new Set(['default', 'const', 'enum', 'example', 'examples']);
/** Lists that nothing would fit if they were empty. */
const NEVER_EMPTY = new Set(['type', 'enum', 'items', 'anyOf', 'oneOf', 'allOf']);
/** Lists of names or schemas. */
const HOLDS_NO_NULL = new Set(['required', 'anyOf', 'oneOf', 'allOf']);
const DEEPEST = 30;

const type = z.enum(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const one = z.lazy((): z.ZodType => jsonSchema);
const list = z.array(one).optional();
const fields = z.record(z.string(), one).optional();
const oneOrList = z.union([one, z.array(one)]).optional();
/** A model API refuses a whole request for one tool whose schema isn't put together like this. */
const jsonSchema = z.union([
  z.boolean(),
  z.looseObject({
    type: z.union([type, z.array(type)]).optional(),
    required: z.array(z.string()).optional(),
    enum: z.array(z.unknown()).optional(),
    ...{ properties: fields, patternProperties: fields, $defs: fields, definitions: fields, dependentSchemas: fields },
    ...{
      anyOf: list,
      oneOf: list,
      allOf: list,
      items: oneOrList,
      additionalProperties: oneOrList,
      contains: oneOrList,
    },
    ...{ propertyNames: oneOrList, not: oneOrList, if: oneOrList, then: oneOrList, else: oneOrList },
  }),
]);

/**
 * Descriptions and schemas as a model gets them: as the server wrote them, with descriptions cut until each tool and the
 * whole server stay within their budgets. A tool that can't be shown is undefined.
 */
export function showTools(tools: readonly ForeignTool[]): readonly (ShownTool | undefined)[] {
  const alone = tools.map((tool) => (isUsable(tool) ? fitted([tool], MOST_FOR_TOOL)[0] : undefined));
  const usable = tools.filter((_tool, at) => alone[at] !== undefined);
  if (JSON.stringify(alone).length <= MOST_FOR_SERVER) return alone;
  const together = fitted(usable, MOST_FOR_SERVER).values();
  return alone.map((tool) => (tool === undefined ? undefined : together.next().value));
}

function isUsable({ inputSchema }: ForeignTool): boolean {
  try {
    const { description: _text, ...bare } = shownSchema(inputSchema, 0);
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
  const { properties, required, ...rest } = tidied(inputSchema, longest, 0);
  if ((rest['type'] ?? 'object') !== 'object') throw new TypeError('not the schema of an object');
  const names = fieldNames(inputSchema);
  const renamed = (name: unknown): unknown => names.get(String(name)) ?? name;
  const shown = Object.entries(isObject(properties) ? properties : {}).map(([name, field]) => [renamed(name), field]);
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([key]) => !NOT_AT_TOP.has(key))),
    type: 'object',
    // One that isn't an object makes the tool unusable.
    properties: properties === undefined || isObject(properties) ? Object.fromEntries(shown) : properties,
    ...(required === undefined ? {} : { required: Array.isArray(required) ? required.map(renamed) : required }),
  };
}

/**
 * A schema with what servers often leave out or write as null: a keyword that is null or empty counts as absent, `any`
 * as no type, an array without `items` holds anything. Without invisible characters, since people read it too.
 */
function tidied(schema: JsonObject, longest: number, depth: number): JsonObject {
  if (depth > DEEPEST) throw new RangeError('nested too deeply');
  const inside = (value: unknown): unknown => {
    if (typeof value === 'string') return visible(value);
    if (Array.isArray(value)) return value.map(inside);
    return isObject(value) ? tidied(value, longest, depth + 1) : value;
  };
  const tidy = (key: string, value: unknown): unknown => {
    if (NAMES_FIELDS.has(key) && isObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, inside(field ?? {})]));
    }
    if (HOLDS_DATA.has(key)) return visible(value);
    if ((key === 'description' || key === 'title') && typeof value === 'string') return shorten(value, longest);
    return inside(HOLDS_NO_NULL.has(key) && Array.isArray(value) ? value.filter((item) => item !== null) : value);
  };
  const kept = Object.entries(schema).filter(([key, value]) => !saysNothing(key, value, longest));
  const { type: given, ...rest } = Object.fromEntries(kept.map(([key, value]) => [key, tidy(key, value)]));
  const types: readonly unknown[] = Array.isArray(given) ? given : [given];
  const items = types.includes('array') && rest['items'] === undefined ? { items: {} } : {};
  return { ...(given === undefined || types.includes('any') ? {} : { type: given }), ...rest, ...items };
}

/** PHP writes an empty object as a list; older drafts have `required` in each field. */
function saysNothing(key: string, value: unknown, longest: number): boolean {
  if (value === null) return !HOLDS_DATA.has(key) || key === 'enum';
  if (key === 'required') return typeof value === 'boolean' || (isObject(value) && Object.keys(value).length === 0);
  if (key === 'description' || key === 'title') return longest === 0 && typeof value === 'string';
  if (Array.isArray(value)) return value.length === 0 && (NAMES_FIELDS.has(key) || NEVER_EMPTY.has(key));
  return key === 'type' && value === '';
}

/** The same data without invisible characters in its texts. */
function visible(value: unknown): unknown {
  if (typeof value === 'string') return withoutInvisible(value).text;
  if (Array.isArray(value)) return value.map(visible);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visible(item)]));
}

function shorten(text: string, limit: number): string {
  const { text: clean } = withoutInvisible(text);
  return clean.length <= limit ? clean : `${cut(clean, limit - 1).trimEnd()}…`;
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

/** What could take long (patterns) or is none of our business; defaults are filled in for required fields alone. */
const NOT_CHECKED = new Set(['pattern', 'patternProperties', 'format', 'default', 'contentEncoding']);

/**
 * What a call's arguments are checked against before the server sees them: types, required fields and choices. A schema
 * that can't be read lets everything through; the server checks it itself.
 */
export function validatorOf(inputSchema: JsonObject): z.ZodObject {
  try {
    const schema = z.fromJSONSchema(checkable(shownSchema(inputSchema, 0)));
    if (schema instanceof z.ZodObject) return schema;
  } catch {
    // Fall through.
  }
  return z.looseObject({});
}

function checkable(schema: JsonObject): JsonObject {
  const needed: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inside);
    return isObject(value) ? checkable(value) : value;
  };
  const entries = Object.entries(schema).flatMap(([key, value]): (readonly [string, unknown])[] => {
    if (NOT_CHECKED.has(key)) return [];
    if (HOLDS_DATA.has(key)) return [[key, value]];
    if (!NAMES_FIELDS.has(key) || !isObject(value)) return [[key, inside(value)]];
    const named = Object.entries(value).map(([name, field]) => {
      const filled = key === 'properties' && needed.includes(name) && isObject(field) && field['default'] !== undefined;
      return [name, filled ? { ...checkable(field), default: field['default'] } : inside(field)] as const;
    });
    return [[key, Object.fromEntries(named)]];
  });
  return Object.fromEntries(entries);
}

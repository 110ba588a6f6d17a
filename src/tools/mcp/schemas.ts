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

function showTool({ description, inputSchema }: ForeignTool, budget: number): ShownTool | undefined {
  if (inputSchema['type'] !== 'object' || !isSchema(inputSchema, 0)) return undefined;
  const properties = isObject(inputSchema['properties']) ? inputSchema['properties'] : {};
  if (!Object.keys(properties).every((name) => FIELD.test(name))) return undefined;
  const kept = Object.entries(inputSchema).filter(([key]) => !NOT_AT_TOP.has(key));
  const schema = { ...Object.fromEntries(kept), type: 'object', properties };
  let shown: ShownTool | undefined;
  for (const { tool, inner } of LEVELS) {
    shown = { description: shorten(description, tool), parameters: shortenInside(schema, inner) };
    if (JSON.stringify(shown).length <= budget) return shown;
  }
  return shown !== undefined && JSON.stringify(shown).length <= MOST_FOR_TOOL * 2 ? shown : undefined;
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

/** Keywords whose keys are names that somebody chose. */
const NAMES_FIELDS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/**
 * What a call's arguments are checked against before the server sees them: types, required fields and choices. What
 * could take long (patterns) or change the arguments (defaults) is the server's business, as is a schema that cannot
 * be read.
 */
export function validatorOf(inputSchema: JsonObject): z.ZodObject {
  try {
    const plain = withoutKeywords(inputSchema, false);
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
  return Object.fromEntries(entries);
}

function withoutKeywordsInside(value: unknown, isFields: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutKeywordsInside(item, false));
  return isObject(value) ? withoutKeywords(value, isFields) : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import * as z from 'zod';
import { AppError } from '../util/errors.ts';
import { innerSchema } from './schema.ts';
import type { Program } from '../program.ts';
import { markedEffect, type Effect } from './schema/values.ts';

/** The keys that lead to a setting, from the top of the configuration. */
export type SettingPath = readonly string[];

const PART = /\["(?<quoted>[^"]+)"\]|(?:^|\.)"(?<dotted>[^"]+)"|(?:^|\.)(?<plain>[^.["\]]+)/uy;

/** Reads `agent.model`, `agent.fallbacks.0` or `models["openai/gpt-5.1"].price`. Throws one sentence for another form. */
export function parsePath(text: string): SettingPath {
  const path: string[] = [];
  for (PART.lastIndex = 0; PART.lastIndex < text.length;) {
    const groups = PART.exec(text)?.groups;
    if (groups === undefined) {
      path.length = 0;
      break;
    }
    path.push(groups['quoted'] ?? groups['dotted'] ?? groups['plain'] ?? '');
  }
  PART.lastIndex = 0;
  if (path.length > 0) return path;
  throw new AppError(
    'setting-path',
    `${JSON.stringify(text.slice(0, 80))} is not the name of a setting. Write it as in agent.model, or models["openai/gpt-5.1"].price where a name holds a dot.`,
    { exitCode: 2 },
  );
}

/** A path as `parsePath` reads it. */
export function pathText(path: SettingPath): string {
  return path.map((key, at) => (/[.["\]]/u.test(key) ? `["${key}"]` : `${at === 0 ? '' : '.'}${key}`)).join('');
}

/** When a change of the setting at this path takes effect. */
export function effectOf(program: Program, path: SettingPath): Effect {
  const marks = path.map((_, at) => markedEffect(schemaAt(program, path.slice(0, at + 1))));
  return marks.findLast((mark) => mark !== undefined) ?? 'restart';
}

/** The schema of the setting at this path; undefined where there is no such setting. */
export function schemaAt(program: Pick<Program, 'schema'>, path: SettingPath): unknown {
  let schema: unknown = program.schema;
  for (const key of path) schema = schemaBelow(schema, key);
  return schema;
}

function schemaBelow(schema: unknown, key: string): unknown {
  const inner = innerSchema(schema);
  if (inner instanceof z.ZodRecord) return inner.valueType;
  if (inner instanceof z.ZodArray) return /^\d+$/u.test(key) ? inner.element : undefined;
  if (inner instanceof z.ZodUnknown) return inner;
  if (!(inner instanceof z.ZodObject)) return undefined;
  const shape: Readonly<Record<string, unknown>> = inner.shape;
  return Object.hasOwn(shape, key) ? shape[key] : inner.def.catchall;
}

/** The value that stands at a path; undefined where there is none. */
export function valueAt(value: unknown, path: SettingPath): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}

/**
 * What a text on a command line or in a variable means for a setting: itself for a text, a list separated by commas, else
 * JSON. What is no JSON stays a text, so that the program refuses it by name.
 */
export function valueFromText(schema: unknown, text: string): unknown {
  const inner = innerSchema(schema);
  const isNullable = schema instanceof z.ZodType && schema.safeParse(null).success;
  if (text === 'null' && isNullable) return null;
  if (inner instanceof z.ZodString || inner instanceof z.ZodURL || inner instanceof z.ZodEnum) {
    return /^\s*\{\s*"file"/u.test(text) ? fromJson(text) : text;
  }
  if (inner instanceof z.ZodUnion) return /^\s*[[{]/u.test(text) ? fromJson(text) : text;
  if (inner instanceof z.ZodArray && !/^\s*\[/u.test(text)) {
    const items = text.split(',').map((item) => item.trim());
    return items.filter((item) => item !== '');
  }
  return fromJson(text);
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

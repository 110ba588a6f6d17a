import * as z from 'zod';
import { nearest } from '../util/text.ts';
import { channelKeys } from './schema/channels.ts';
import { configSchema, innerSchema } from './schema.ts';

/**
 * Returns one warning for each key of a configuration that is not known and has no effect, with the nearest known key as a
 * hint. `raw` is the parsed file before validation.
 */
export function unknownKeys(raw: unknown): readonly string[] {
  return walk(configSchema, raw, []);
}

function walk(schema: unknown, value: unknown, path: readonly string[]): readonly string[] {
  const inner = innerSchema(schema);
  if (Array.isArray(value)) {
    if (!(inner instanceof z.ZodArray)) return [];
    return value.flatMap((item: unknown, index) => walk(inner.element, item, [...path, String(index)]));
  }
  if (typeof value !== 'object' || value === null) return [];
  if (inner instanceof z.ZodRecord) {
    return Object.entries(value).flatMap(([key, item]) => walk(inner.valueType, item, [...path, key]));
  }
  if (!(inner instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, unknown>> = inner.shape;
  const known = knownKeys(path, value) ?? Object.keys(shape);
  const isPlugin = inner.def.catchall !== undefined && knownKeys(path, value) === undefined;
  return Object.entries(value).flatMap(([key, item]) => {
    if (known.includes(key)) return walk(shape[key], item, [...path, key]);
    return isPlugin ? [] : [warning([...path, key], key, known)];
  });
}

/** The keys of a channel of a built-in platform; undefined for a plugin's channel and for every other section. */
function knownKeys(path: readonly string[], value: object): readonly string[] | undefined {
  const [section, name] = path;
  if (section !== 'channels' || name === undefined || path.length !== 2) return undefined;
  return channelKeys('kind' in value && typeof value.kind === 'string' ? value.kind : name);
}

function warning(path: readonly string[], key: string, known: readonly string[]): string {
  const hint = nearest(key, known);
  const parent = path.slice(0, -1).join('.');
  const meant = hint === undefined ? '' : ` Did you mean "${parent === '' ? hint : `${parent}.${hint}`}"?`;
  return `The setting "${path.join('.')}" is not known and has no effect.${meant}`;
}

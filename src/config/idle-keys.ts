import * as z from 'zod';
import { nearest } from '../util/text.ts';
import { channelKeys } from './schema/channels.ts';
import { reservedSentence } from './schema/values.ts';
import { configSchema, innerSchema } from './schema.ts';

/** One sentence about a key that has no effect. */
interface IdleKey {
  readonly sentence: string;
  /** It is reserved for a later version. */
  readonly reserved: boolean;
}

/**
 * Returns one warning for each key of a configuration that has no effect: an unknown key, with the nearest known key as a
 * hint, or a key that is reserved for a later version. `raw` is the parsed file before validation.
 */
export function idleKeys(raw: unknown): readonly string[] {
  return walk(configSchema, raw, []).map(({ sentence }) => sentence);
}

/** Of those only the unknown keys. */
export function unknownKeys(raw: unknown): readonly string[] {
  return walk(configSchema, raw, []).flatMap(({ sentence, reserved }) => (reserved ? [] : [sentence]));
}

function walk(schema: unknown, value: unknown, path: readonly string[]): readonly IdleKey[] {
  const sentence = reservedSentence(schema);
  return [
    ...(sentence === undefined || isUnset(value) ? [] : [{ sentence, reserved: true }]),
    ...unknownIn(schema, value, path),
  ];
}

/** Whether a value is the same as leaving the key out: null, or an empty object or list. */
function isUnset(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function unknownIn(schema: unknown, value: unknown, path: readonly string[]): readonly IdleKey[] {
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

function warning(path: readonly string[], key: string, known: readonly string[]): IdleKey {
  const hint = nearest(key, known);
  const parent = path.slice(0, -1).join('.');
  const meant = hint === undefined ? '' : ` Did you mean "${parent === '' ? hint : `${parent}.${hint}`}"?`;
  return { sentence: `The setting "${path.join('.')}" is not known and has no effect.${meant}`, reserved: false };
}

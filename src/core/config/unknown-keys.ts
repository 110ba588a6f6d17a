import * as z from 'zod';
import { nearest } from '../util/text.ts';
import { keysOfKind } from './schema/channels.ts';
import { innerSchema } from './schema.ts';
import { kindOf, type Program } from '../program.ts';
import { valueAt, type SettingPath } from './setting.ts';

/**
 * Returns one warning for each key of a configuration that is not known and has no effect, with the nearest known key as a
 * hint. `raw` is the parsed file before validation, `absent` the packages that are listed and not a part of the program, whose keys
 * aren't known.
 */
export function unknownKeys(program: Program, raw: unknown, absent: readonly string[] = []): readonly string[] {
  return walk(program.schema, raw, { program, absent, path: [] });
}

interface Place {
  readonly program: Program;
  readonly absent: readonly string[];
  readonly path: readonly string[];
}

function walk(schema: unknown, value: unknown, place: Place): readonly string[] {
  const { path, absent } = place;
  const at = (key: string): Place => ({ ...place, path: [...path, key] });
  const inner = innerSchema(schema);
  if (Array.isArray(value)) {
    if (!(inner instanceof z.ZodArray)) return [];
    return value.flatMap((item: unknown, index) => walk(inner.element, item, at(String(index))));
  }
  if (typeof value !== 'object' || value === null) return [];
  if (inner instanceof z.ZodRecord) {
    return Object.entries(value).flatMap(([key, item]) => walk(inner.valueType, item, at(key)));
  }
  if (!(inner instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, unknown>> = inner.shape;
  const { known, isOpen } = keysAt(place.program, { path, value, schema: inner });
  return Object.entries(value).flatMap(([key, item]) => {
    if (known.includes(key)) return walk(shape[key], item, at(key));
    return isOpen ? [] : [warning([...path, key], { known, absent })];
  });
}

/** The keys that an object of the configuration has at this path; `isOpen`: a plugin may know others. */
export function keysAt(
  program: Program,
  { path, value, schema }: { readonly path: SettingPath; readonly value: unknown; readonly schema: z.ZodObject },
): { readonly known: readonly string[]; readonly isOpen: boolean } {
  const [section, name] = path;
  if (section === 'channels' && name !== undefined && path.length === 2) {
    const written = valueAt(value, ['kind']);
    const kind = kindOf(program, typeof written === 'string' ? written : name);
    if (kind !== undefined) return { known: keysOfKind(kind), isOpen: false };
  }
  return { known: Object.keys(schema.shape), isOpen: schema.def.catchall !== undefined };
}

function warning(
  path: readonly string[],
  { known, absent }: { readonly known: readonly string[]; readonly absent: readonly string[] },
): string {
  const hint = nearest(path.at(-1) ?? '', known);
  if (hint === undefined && absent.length > 0)
    return `The setting "${path.join('.')}" isn't checked, because it isn't known without ${absent.map((name) => `the plugin ${JSON.stringify(name)}`).join(' or ')}, which isn't loaded.`;
  const parent = path.slice(0, -1).join('.');
  const meant = hint === undefined ? '' : ` Did you mean "${parent === '' ? hint : `${parent}.${hint}`}"?`;
  return `The setting "${path.join('.')}" is not known and has no effect.${meant}`;
}

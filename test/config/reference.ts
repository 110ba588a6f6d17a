import * as z from 'zod';
import { innerSchema } from '../../src/config/schema.ts';

/** A row of the reference: what `docs/configuration.md` must say about one key. */
export interface ReferenceRow {
  /** `<name>` stands for a name of the owner's choice. */
  readonly key: string;
  readonly initial: string;
  readonly doc: string;
}

/** Every key of a schema in order, with its default and its line of documentation. */
export function referenceRows(schema: unknown, path: readonly string[] = []): readonly ReferenceRow[] {
  const inner = innerSchema(schema);
  const own = path.length === 0 ? [] : [row(schema, path)];
  if (inner instanceof z.ZodObject) {
    const shape: Readonly<Record<string, unknown>> = inner.shape;
    return [...own, ...Object.entries(shape).flatMap(([key, item]) => referenceRows(item, [...path, key]))];
  }
  if (inner instanceof z.ZodRecord && innerSchema(inner.valueType) instanceof z.ZodObject) {
    return [...own, ...referenceRows(inner.valueType, [...path, '<name>'])];
  }
  return own;
}

export function referenceLine({ key, initial, doc }: ReferenceRow): string {
  return `| \`${key}\` | ${initial === '' ? '' : `\`${initial}\``} | ${doc} |`;
}

function row(schema: unknown, path: readonly string[]): ReferenceRow {
  const doc = schema instanceof z.ZodType ? (schema.description ?? '') : '';
  const inner = innerSchema(schema);
  const values =
    inner instanceof z.ZodEnum ? ` One of ${inner.options.map((value) => `\`${value}\``).join(', ')}.` : '';
  return { key: path.join('.'), initial: initial(schema), doc: doc + values };
}

function initial(schema: unknown): string {
  const inner = innerSchema(schema);
  if (inner instanceof z.ZodObject) return '';
  if (!(schema instanceof z.ZodType)) return '';
  const parsed = schema.safeParse(undefined);
  return parsed.success && parsed.data !== undefined ? JSON.stringify(parsed.data) : '';
}

import * as z from 'zod';
import { PROGRAM } from '../support/extensions.ts';
import { innerSchema } from '../../src/core/config/schema.ts';
import { effectOf } from '../../src/core/config/setting.ts';
import { table } from '../docs/generated-part.ts';

/** A row of the reference: what `docs/configuration.md` must say about one key. */
export interface ReferenceRow {
  /** `<name>` stands for a name of the owner's choice. */
  readonly key: string;
  /** What a value looks like; '' for a group of keys. */
  readonly form: string;
  /** As JSON; '' where there is none. */
  readonly initial: string;
  readonly doc: string;
  /** When a change takes effect; '' for a group of keys. */
  readonly effect: string;
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

/** The reference as Markdown: a heading and a table for each section. */
export function referencePart(rows: readonly ReferenceRow[]): string {
  return [...Map.groupBy(rows, ({ key }) => key.split('.')[0] ?? '')]
    .map(
      ([section, own]) => `### ${section}\n\n${table(['key', 'form', 'default', 'meaning', 'change'], own.map(cells))}`,
    )
    .join('\n\n');
}

function cells({ key, form, initial: value, doc, effect }: ReferenceRow): readonly string[] {
  return [`\`${key}\``, form, value === '' ? '' : `\`${value}\``, doc, effect];
}

function row(schema: unknown, path: readonly string[]): ReferenceRow {
  const doc = schema instanceof z.ZodType ? (schema.description ?? '') : '';
  const form = formOf(schema);
  return {
    key: path.join('.'),
    form,
    initial: initial(schema),
    doc,
    effect: form === '' ? '' : effectOf(PROGRAM, path),
  };
}

/** What a value looks like, in words. Throws for a kind of schema that it has no words for. */
function formOf(schema: unknown): string {
  const inner = innerSchema(schema);
  if (inner instanceof z.ZodObject) return '';
  if (inner instanceof z.ZodEnum) return inner.options.map((value) => `\`${value}\``).join(', ');
  if (inner instanceof z.ZodString || inner instanceof z.ZodURL) return 'text';
  if (inner instanceof z.ZodBoolean) return 'true or false';
  if (inner instanceof z.ZodNumber) return inner.isInt ? 'whole number' : 'number';
  if (inner instanceof z.ZodUnknown) return 'anything';
  if (inner instanceof z.ZodArray) return `list of ${plural(formOf(inner.element))}`;
  if (inner instanceof z.ZodUnion) return inner.options.map(formOf).join(', or ');
  if (inner instanceof z.ZodRecord) {
    const value = formOf(inner.valueType);
    return value === '' ? 'entries by name' : `${plural(value)} by name`;
  }
  if (inner instanceof z.ZodLiteral) return inner.values.values().toArray().map(String).join(', ');
  throw new Error(`no words for ${String(inner)}`);
}

function plural(form: string): string {
  return form === 'text' ? 'texts' : form;
}

function initial(schema: unknown): string {
  const inner = innerSchema(schema);
  if (inner instanceof z.ZodObject) return '';
  if (!(schema instanceof z.ZodType)) return '';
  const parsed = schema.safeParse(undefined);
  return parsed.success && parsed.data !== undefined ? JSON.stringify(parsed.data) : '';
}

import type { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import { ASKS } from './tools-asks.ts';
import { table } from './generated-part.ts';

type Registered = ReturnType<ToolRegistry['list']>[number];

const ROLES = { owner: 'owner', trusted: 'trusted', guest: 'everyone' } as const;
const EFFECTS = { none: 'no', idempotent: 'yes, repeatable', effect: 'yes' } as const;

/** One row for each tool. `isGuests`: whether the default configuration lets guests use it. */
export function toolTable(tools: readonly Registered[], isGuests: (name: string) => boolean): string {
  const rows = tools.map(({ tool, spec }) => [
    `[\`${spec.name}\`](#${spec.name})`,
    firstSentence(spec.description),
    isGuests(spec.name) ? ROLES.guest : ROLES[tool.role ?? 'trusted'],
    EFFECTS[tool.effect],
    ASKS[spec.name]?.about ?? '',
  ]);
  return table(['tool', 'what it does', 'for', 'changes something', 'asks first about'], rows);
}

/** What a model reads of each tool: its description and its parameters. */
export function toolSections(tools: readonly Registered[]): string {
  return tools
    .map(({ spec }) => `### ${spec.name}\n\n${spec.description}\n\n${parameterTable(spec.parameters)}`)
    .join('\n\n');
}

/** One row for each parameter of a JSON Schema of an object. */
export function parameterTable(schema: unknown): string {
  return table(['parameter', 'form', 'default', 'meaning'], parameterRows(schema, ''));
}

function parameterRows(schema: unknown, prefix: string): readonly (readonly string[])[] {
  const { properties, required } = { properties: field(schema, 'properties'), required: field(schema, 'required') };
  return Object.entries(properties ?? {}).flatMap(([name, part]: [string, unknown]) => {
    const described = field(part, 'description');
    const text = typeof described === 'string' ? described : '';
    const isRequired = Array.isArray(required) && required.includes(name);
    const { meaning, fallback } = splitDefault(text);
    const row = [`\`${prefix}${name}\``, formOf(part), isRequired ? 'required' : fallback, meaning];
    return [
      row,
      ...parameterRows(part, `${prefix}${name}.`),
      ...parameterRows(field(part, 'items'), `${prefix}${name}[].`),
    ];
  });
}

/** The default stands at the end of a description, behind `Default:`. */
function splitDefault(text: string): { readonly meaning: string; readonly fallback: string } {
  const at = text.indexOf(' Default: ');
  if (at === -1) return { meaning: text, fallback: '' };
  return { meaning: text.slice(0, at), fallback: text.slice(at + ' Default: '.length).replace(/\.$/u, '') };
}

function formOf(schema: unknown): string {
  const choices = field(schema, 'enum');
  if (Array.isArray(choices)) return choices.map((choice) => `\`${String(choice)}\``).join(', ');
  const either = field(schema, 'anyOf');
  if (Array.isArray(either)) return either.map(formOf).join(' or ');
  switch (field(schema, 'type')) {
    case 'null':
      return '`null`';
    case 'string':
      return 'text';
    case 'integer':
      return 'whole number';
    case 'number':
      return 'number';
    case 'boolean':
      return 'true or false';
    case 'array':
      return `list of ${field(field(schema, 'items'), 'type') === 'object' ? 'objects' : 'texts'}`;
    case 'object':
      return 'object';
    default:
      throw new Error(`no word for ${JSON.stringify(schema)}`);
  }
}

function field(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}

function firstSentence(text: string): string {
  return text.split(/(?<=\.)\s/u)[0] ?? text;
}

/** What a model is told of a tool. */
export interface ShownTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

type Schema = Readonly<Record<string, unknown>>;

/** A field of a tool's parameters, with its way from the top: `edits[].path`. */
interface Field {
  readonly tool: string;
  readonly path: string;
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** Characters below which nothing stands alone. */
const SHORTEST = { tool: 80, field: 24 };
const FEWEST_WORDS = { tool: 14, field: 4 };
/** Words that only this program's makers know, unless a tool is called so; and spellings that are none. */
const PRIVATE = /\b(?:taint(?:ed)?|fold(?:ed|s)?|spill(?:ed)?|tape|envelope|anchored|whoever|can not)\b/iu;
/** A text for people or models has no form that an example could show. */
const FREE_TEXT = /\b(?:text|content|message|Markdown|task|question|summary|reason|line)\b/u;
const EXAMPLE = /\b(?:e\.g\.|such as) \S|\((?:\d|in |every |tomorrow )[^)]+\)/u;
const WITHOUT = /\bDefault: \S|\bRequired (?:for|except)\b/u;
/** Says what to do with it, or what does it better. */
const GUIDANCE = /\b(?:[Uu]se (?:it|[a-z]+_?[a-z]+)\b|Prefer|[Ww]hen\b|[Dd]o not\b)/u;

/** Everything that a reader of these texts alone would stumble over, one line each; empty when they stand alone. */
export function textFaults(tools: readonly ShownTool[]): readonly string[] {
  const fields = tools.flatMap(({ name, parameters }) => fieldsOf(name, parameters));
  return [
    ...tools.flatMap(({ name, description }) => [
      ...sentenceFaults(description, 'tool').map((fault) => `${name}: ${fault}`),
      ...privateWords(description, name).map((fault) => `${name}: ${fault}`),
      ...(GUIDANCE.test(description) ? [] : [`${name}: does not say when to use it, or what is better`]),
    ]),
    ...fields.flatMap((field) => fieldFaults(field).map((fault) => `${field.tool}.${field.path}: ${fault}`)),
    ...shared(fields),
  ];
}

function fieldsOf(tool: string, schema: unknown, above = ''): readonly Field[] {
  if (!isObject(schema)) return [];
  const { properties, items, required, additionalProperties } = schema;
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const own = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, field]) => {
    const path = above === '' ? name : `${above}.${name}`;
    const found = { tool, path, name, schema: isObject(field) ? field : {}, isRequired: names.includes(name) };
    return [found, ...fieldsOf(tool, field, path)];
  });
  const unions = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => {
    const members: unknown = schema[key];
    return Array.isArray(members) ? members.flatMap((member) => fieldsOf(tool, member, above)) : [];
  });
  return [
    ...own,
    ...unions,
    ...fieldsOf(tool, items, `${above}[]`),
    ...fieldsOf(tool, additionalProperties, `${above}.*`),
  ];
}

function fieldFaults(field: Field): readonly string[] {
  const { tool, schema, isRequired } = field;
  const description = descriptionOf(field);
  if (description === '') return ['has no description'];
  const choices: readonly unknown[] = Array.isArray(schema['enum']) ? schema['enum'] : [];
  const unnamed = choices.filter((choice) => !new RegExp(`\\b${String(choice)}\\b`, 'u').test(description));
  const isFree = choices.length === 0 && (holdsText(schema) || schema['type'] === 'object');
  return [
    ...sentenceFaults(description, 'field'),
    ...privateWords(description, tool),
    ...unnamed.map((choice) => `does not explain ${JSON.stringify(choice)}`),
    ...(isRequired || WITHOUT.test(description) ? [] : ['does not say what happens without it']),
    ...(isFree && !FREE_TEXT.test(description) && !EXAMPLE.test(description) ? ['shows no example of its form'] : []),
    ...(schema['default'] === undefined || description.includes(`Default: ${printed(schema['default'])}`)
      ? []
      : ['does not name its default']),
  ];
}

function descriptionOf({ schema }: Field): string {
  return typeof schema['description'] === 'string' ? schema['description'] : '';
}

function holdsText(schema: Schema): boolean {
  const { type, items } = schema;
  return type === 'string' || (type === 'array' && isObject(items) && items['type'] === 'string');
}

function sentenceFaults(text: string, kind: 'tool' | 'field'): readonly string[] {
  return [
    ...(/^[\p{Lu}]/u.test(text) ? [] : ['does not begin with a capital letter']),
    ...(text.endsWith('.') ? [] : ['does not end with a full stop']),
    ...(text.length < SHORTEST[kind] || text.split(/\s+/u).length < FEWEST_WORDS[kind] ? [`is a riddle: ${text}`] : []),
  ];
}

function privateWords(text: string, tool: string): readonly string[] {
  const found = PRIVATE.exec(text.replaceAll(new RegExp(`\\b${tool}\\b`, 'giu'), ''));
  return found === null ? [] : [`uses a word that nobody knows: ${found[0]}`];
}

/** The same words under different names are about one of them at most. */
function shared(fields: readonly Field[]): readonly string[] {
  const texts = Map.groupBy(fields, descriptionOf);
  return [...texts].flatMap(([text, users]) => {
    const names = new Set(users.map(({ name }) => name));
    if (text === '' || names.size < 2) return [];
    return [`${users.map(({ tool, path }) => `${tool}.${path}`).join(', ')}: are described by the same words`];
  });
}

function printed(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

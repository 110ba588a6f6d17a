/** What the request validators share: a list of broken rules with the place of each, and shapes of JSON. */

export class Problems {
  readonly found: string[] = [];

  add(path: string, rule: string): void {
    this.found.push(`${path}: ${rule}`);
  }

  /** Adds the rule where `holds` is false; returns `holds`. */
  must(holds: boolean, path: string, rule: string): boolean {
    if (!holds) this.add(path, rule);
    return holds;
  }

  keys(value: Readonly<Record<string, unknown>>, path: string, allowed: readonly string[]): void {
    for (const key of Object.keys(value)) {
      if (!allowed.includes(key)) this.add(path, `unknown key "${key}"`);
    }
  }

  /** A number within bounds, if there is one at all. */
  range(value: unknown, path: string, bounds: { min: number; max: number; integer?: boolean }): void {
    if (value === undefined) return;
    const holds =
      typeof value === 'number' &&
      value >= bounds.min &&
      value <= bounds.max &&
      (bounds.integer !== true || Number.isInteger(value));
    const kind = bounds.integer === true ? 'an integer' : 'a number';
    this.must(holds, path, `must be ${kind} from ${bounds.min} to ${bounds.max}`);
  }

  oneOf(value: unknown, path: string, allowed: readonly unknown[]): boolean {
    return this.must(allowed.includes(value), path, `must be one of ${allowed.map(String).join(', ')}`);
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects of a list; nothing for anything else. */
export function records(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The text of a content that is a string or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return records(content)
    .filter((part) => part['type'] === 'text')
    .map((part) => String(part['text']))
    .join('\n');
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Standard base64 with padding. */
export function isBase64(value: unknown): value is string {
  // No pattern: over some megabytes one may need more stack than there is.
  return isText(value) && value !== '' && Buffer.from(value, 'base64').toString('base64') === value;
}

/** Every string, keys too, must be valid Unicode: both APIs refuse a lone surrogate as broken JSON. */
export function checkUnicode(problems: Problems, value: unknown, path: string): void {
  if (typeof value === 'string') {
    problems.must(value.isWellFormed(), path, 'must not hold a lone surrogate');
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkUnicode(problems, item, `${path}[${index}]`);
  } else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) {
      problems.must(key.isWellFormed(), path, 'a key must not hold a lone surrogate');
      checkUnicode(problems, item, `${path}.${key}`);
    }
  }
}

/** The parts of a JSON Schema for a tool's input that both APIs insist on. */
export function checkToolSchema(problems: Problems, schema: unknown, path: string): void {
  if (!problems.must(isRecord(schema), path, 'must be a JSON Schema object') || !isRecord(schema)) return;
  problems.must(schema['type'] === 'object', path, 'the schema\'s type must be "object"');
  const { properties, required } = schema;
  problems.must(properties === undefined || isRecord(properties), path, 'properties must be an object');
  problems.must(
    required === undefined || (Array.isArray(required) && required.every((name) => typeof name === 'string')),
    path,
    'required must be a list of names',
  );
}

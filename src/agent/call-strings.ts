/** Every text in the arguments of a call, however deep; arguments that are no JSON are one text. */
export function stringsIn(json: string): readonly string[] {
  const parsed = parse(json);
  return parsed === undefined ? [json] : strings(parsed);
}

/** Arguments as data; undefined when they are no JSON. */
export function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function strings(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : [];
}

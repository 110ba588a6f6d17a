/** A tool's parameters as a comma command needs them. */
export interface ParameterNames {
  readonly names: readonly string[];
  /** The first one that must be given. */
  readonly first: string | undefined;
}

/**
 * The arguments of `,tool …` as JSON text: `{…}` as it is, `key=value key="two words"` by key (a value goes on to the
 * next known key), anything else as the value of the first required parameter.
 */
export function commaArguments(text: string, { names, first }: ParameterNames): string {
  if (text === '') return '{}';
  if (text.startsWith('{')) return text;
  const keys = [...text.matchAll(/(?<=^|\s)(?<key>[A-Za-z]\w*)=/gu)].filter((match) =>
    names.includes(match.groups?.['key'] ?? ''),
  );
  if (keys[0]?.index !== 0) return JSON.stringify(first === undefined ? { text } : { [first]: text });
  const pairs = keys.map((match, index) => {
    const key = match.groups?.['key'] ?? '';
    const value = text.slice(match.index + key.length + 1, keys[index + 1]?.index).trim();
    return [key, unquoted(value)];
  });
  return JSON.stringify(Object.fromEntries(pairs));
}

/** Quotes around a whole value are not part of it. */
function unquoted(value: string): string {
  const match = /^(?<quote>["'])(?<inner>[\s\S]*)\k<quote>$/u.exec(value);
  const { quote = '', inner = '' } = match?.groups ?? {};
  return match === null || inner.includes(quote) ? value : inner;
}

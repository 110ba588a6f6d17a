import { parse } from 'yaml';

/** What a strict YAML reader makes of the block between two lines of three hyphens, white space folded. */
export function strictReading(text: string): { readonly name?: string; readonly description?: string } {
  const block = /^\uFEFF?---[ \t]*\r?\n(?<block>[^]*?)\r?\n---[ \t]*(?:\r?\n|$)/u.exec(text)?.groups?.['block'];
  if (block === undefined) return {};
  let value: unknown;
  try {
    value = parse(block, { schema: 'core', maxAliasCount: 20, logLevel: 'error' });
  } catch {
    return {};
  }
  if (typeof value !== 'object' || value === null) return {};
  const name = 'name' in value ? folded(value.name) : undefined;
  const description = 'description' in value ? folded(value.description) : undefined;
  return { ...(name === undefined ? {} : { name }), ...(description === undefined ? {} : { description }) };
}

function folded(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const text = String(value).replace(/\s+/gu, ' ').trim();
  return text === '' ? undefined : text;
}

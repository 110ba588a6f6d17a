import JSON5 from 'json5';
import { fieldsOf, squash, type Fields } from './fields.ts';
import { parseYaml } from './yaml.ts';

/** The fields that are read, squashed; other keys only end the field before them. */
const KNOWN = new Set([
  'name',
  'description',
  'metadata',
  'always',
  'requires',
  'os',
  'primaryenv',
  'install',
  'homepage',
  'license',
  'userinvocable',
  'disablemodelinvocation',
  'allowedtools',
]);

/** Longer fields are taken as they stand, because a parser may need long for what is made to be hard. */
const LONGEST_PARSED = 8_192;
const KEY = /^(?<quote>["']?)(?<key>[\p{L}_][\p{L}\p{N}_-]{0,63})\k<quote>[ \t]*(?::(?=\s|$)|：)[ \t]*(?<value>.*)$/u;
const TIGHT_KEY = /^(?<key>[a-zA-Z_-]{1,32}):(?!\/\/)(?<value>\S.*)$/u;
const BLOCK = /^[|>][-+\d]{0,2}[ \t]*(?:#.*)?$/u;
const CLOSING = /^(?:---|\.\.\.[ \t]*$)/u;

export interface LooseFrontMatter {
  readonly fields: Fields;
  readonly body: string;
  /** False: no closing line was found, or prose came before it, and the end is a guess. */
  readonly closed: boolean;
}

interface Entry {
  readonly key: string;
  readonly value: string;
  readonly rest: string[];
}

/**
 * Reads front matter that a YAML reader refuses, line by line: `key: value` at the start of a line begins a field,
 * anything else continues it. Each field is tried as JSON5 and as YAML and is plain text otherwise.
 * `text` begins with the opening line. Never throws.
 */
export function readLoosely(text: string): LooseFrontMatter {
  const lines = text.split('\n');
  const closing = lines.findIndex((line, at) => at > 0 && CLOSING.test(line));
  const prose = firstProse(lines, closing);
  const end = prose ?? (closing === -1 ? lines.length : closing);
  const closed = prose === undefined && closing !== -1;
  const after = closed
    ? [(lines[closing] ?? '').replace(/^(?:-+|\.+)/u, ''), ...lines.slice(closing + 1)]
    : lines.slice(end);
  return { fields: readFields(lines.slice(1, end)), body: after.join('\n'), closed };
}

function keyOf(line: string): Entry | undefined {
  const groups = KEY.exec(line)?.groups ?? tightKey(line);
  const key = groups?.['key'];
  if (key === undefined) return undefined;
  // `Note: …` in the middle of a text is no field.
  if (!KNOWN.has(squash(key)) && /^\p{Lu}/u.test(key)) return undefined;
  return { key: squash(key), value: groups?.['value'] ?? '', rest: [] };
}

/** `name:value`, only for fields that are known. */
function tightKey(line: string): Record<string, string> | undefined {
  const groups = TIGHT_KEY.exec(line)?.groups;
  return KNOWN.has(squash(groups?.['key'] ?? '')) ? groups : undefined;
}

/** The line where Markdown begins inside of what should be front matter; undefined: nowhere before the closing line. */
function firstProse(lines: readonly string[], closing: number): number | undefined {
  const limit = closing === -1 ? lines.length : closing;
  const heading = firstHeading(lines, limit, closing !== -1);
  if (closing !== -1) return heading;
  let open = true;
  for (let at = 1; at < (heading ?? limit); at += 1) {
    const line = lines[at] ?? '';
    const entry = keyOf(line);
    if (entry !== undefined) open = entry.value === '' || BLOCK.test(entry.value);
    else if (line.startsWith('```') || (!open && /^[^\s#\-}\]]/u.test(line))) return at;
    else if (line.trim() === '' && open) open = nextIsIndented(lines, at, limit);
  }
  return heading;
}

function nextIsIndented(lines: readonly string[], from: number, limit: number): boolean {
  const next = lines.slice(from + 1, Math.min(limit, from + 20)).find((line) => line.trim() !== '');
  return next !== undefined && /^\s/u.test(next);
}

/** A line that is a heading and no YAML comment: what follows it is no field. */
function firstHeading(lines: readonly string[], limit: number, closed: boolean): number | undefined {
  let found: number | undefined;
  let fieldFollows = closed;
  for (let at = limit - 1; at > 0; at -= 1) {
    const line = lines[at] ?? '';
    if (/^#{1,6}\s+\S/u.test(line)) {
      if (!fieldFollows) found = at;
    } else if (line.trim() !== '' && !line.startsWith('#')) {
      fieldFollows = keyOf(line) !== undefined || /^(?:\s|- |[}\]])/u.test(line);
    }
  }
  return found;
}

function readFields(lines: readonly string[]): Fields {
  const whole = lines.join('\n').trim();
  if (whole.startsWith('{')) {
    const fields = fieldsOf(parsed(() => JSON5.parse(whole)));
    if (fields.size > 0) return fields;
  }
  const entries = new Map<string, Entry>();
  let current: Entry | undefined;
  for (const line of lines) {
    const begun = keyOf(line) ?? indentedKey(line, current, entries);
    if (begun === undefined) {
      current?.rest.push(line);
      continue;
    }
    current = begun;
    entries.set(begun.key, begun);
  }
  const known = [...entries.values()].filter((entry) => KNOWN.has(entry.key));
  return new Map(known.map((entry) => [entry.key, valueOf(entry)]));
}

/** A name or description that slipped to the right under a field that is complete. */
function indentedKey(line: string, current: Entry | undefined, seen: ReadonlyMap<string, Entry>): Entry | undefined {
  if (current === undefined || !/^\s/u.test(line)) return undefined;
  if (current.value === '' || BLOCK.test(current.value) || /^["'{[]/u.test(current.value)) return undefined;
  const entry = keyOf(line.trimStart());
  return entry !== undefined && ['name', 'description'].includes(entry.key) && !seen.has(entry.key) ? entry : undefined;
}

function valueOf(entry: Entry): unknown {
  const isBlock = BLOCK.test(entry.value);
  const rest = isBlock ? entry.rest : entry.rest.filter((line) => !line.startsWith('#'));
  const raw = [entry.value, ...rest].join('\n').trim();
  // `Closes #12` is no comment.
  const hasHash = entry.key === 'description' && /^[^"'{[]/u.test(raw) && /\s#\S/u.test(raw);
  if (raw.length <= LONGEST_PARSED && (isBlock || !hasHash)) {
    const indented = [entry.value, ...rest.map((line) => `  ${untabbed(line)}`)].join('\n').trimEnd();
    // First as JSON5: YAML takes its comments for a part of a key.
    const value =
      (/^[{[]/u.test(raw) ? parsed(() => ({ value: JSON5.parse(raw) })) : undefined) ??
      parsed(() => parseYaml(`value: ${indented}`));
    if (value !== undefined) return fieldsOf(value).get('value');
  }
  if (isBlock) return rest.join('\n');
  return unquoted(entry.key === 'name' ? entry.value : raw);
}

function untabbed(line: string): string {
  return line.replace(/^[ \t]+/u, (indent) => indent.replaceAll('\t', '  '));
}

function parsed(parse: () => unknown): unknown {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

/** Takes off quotes that stand around the whole, or one that was never closed. */
function unquoted(text: string): string {
  const quote = text[0];
  if (quote !== '"' && quote !== "'") return text;
  const second = text.indexOf(quote, 1);
  if (second === -1) return text.slice(1);
  const quotesFirstWords = /[^\s\\]/u.test(text[second - 1] ?? '') && /[\s,.;:)]/u.test(text[second + 1] ?? '');
  if (quotesFirstWords) return text;
  const inner = text.endsWith(quote) ? text.slice(1, -1) : text.slice(1);
  return quote === '"' ? inner.replaceAll('\\"', '"').replaceAll('\\n', ' ') : inner.replaceAll("''", "'");
}

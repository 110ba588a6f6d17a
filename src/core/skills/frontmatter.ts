import matter from 'gray-matter';
import { errorMessage } from '../util/errors.ts';
import { oneLine } from '../util/text.ts';
import { asText, fieldsOf, isRecord, type Fields } from './fields.ts';
import { readLoosely } from './loose-front-matter.ts';
import { parseYaml } from './yaml.ts';

export interface FrontMatter {
  readonly fields: Fields;
  /** What stands behind it, without blank lines at its beginning; line ends as LF. */
  readonly body: string;
  /** One sentence each. */
  readonly warnings: readonly string[];
}

/** gray-matter needs time by the square of the length of a gap. */
const LONG_GAP = /\s{500}/u;

/** gray-matter would run `---js`: of its languages only YAML is left. It remembers nothing as long as it gets options. */
const YAML_ONLY = {
  language: 'yaml',
  engines: { yaml: parseMap, json: refuse, javascript: refuse, coffee: refuse },
};

/**
 * Splits a text at its front matter and reads it: as YAML where it is valid, else line by line.
 * Never throws, never runs code, and takes well under a second for anything of some hundred kilobytes.
 */
export function readFrontMatter(text: string): FrontMatter {
  const whole = text.replace(/^\uFEFF/u, '').replace(/\r\n?/gu, '\n');
  const opened = openingOf(whole);
  if (opened === undefined) return { fields: new Map(), body: withoutBlankStart(whole), warnings: [NONE] };
  const { source, language, wrapped, warnings } = opened;
  const strict = language === '' ? readStrictly(source) : { problem: `it is in ${language}, which is not run here` };
  if ('fields' in strict) {
    const { fields, found } = completed(strict.fields, source);
    return { fields, body: bodyOf(strict.body, wrapped), warnings: [...warnings, ...found] };
  }
  const loose = readLoosely(source);
  const body = bodyOf(loose.body, wrapped);
  if (loose.fields.size === 0) {
    if (language === '') return { fields: loose.fields, body: withoutBlankStart(whole), warnings: [...warnings, NONE] };
    return { fields: loose.fields, body, warnings: [...warnings, `Its front matter was left out: ${strict.problem}.`] };
  }
  const found = loose.closed
    ? `Its front matter was read line by line: ${strict.problem}.`
    : 'Its front matter is never closed with a line of three hyphens: where it ends was guessed.';
  return { fields: loose.fields, body, warnings: [...warnings, found] };
}

const NONE = 'It has no front matter.';

interface Opened {
  /** Begins with the line `---`. */
  readonly source: string;
  /** Empty for YAML. */
  readonly language: string;
  /** All of it stands in a fenced code block. */
  readonly wrapped: boolean;
  readonly warnings: readonly string[];
}

/** Finds where front matter begins, in spite of what stands in front of it or is wrong with its first line. */
function openingOf(whole: string): Opened | undefined {
  const lead = /(?:\s*<!--[\s\S]*?-->)*\s*/uy.exec(whole)?.[0] ?? '';
  const fence = /^`{3,}[\w-]*\n(?=-{3,}[ \t]*\n)/u.exec(whole.slice(lead.length, lead.length + 200))?.[0] ?? '';
  const text = whole.slice(lead.length + fence.length);
  const warnings = lead + fence === '' ? [] : ['There is text before its front matter.'];
  const wrapped = fence !== '';

  const lineEnd = text.indexOf('\n');
  const first = lineEnd === -1 ? text : text.slice(0, lineEnd);
  const rest = lineEnd === -1 ? '' : text.slice(lineEnd + 1);
  const isField = /^[ \t]*["']?(?:name|description)["']?[ \t]*:/iu;
  const dashes = /^-{3,}/u.exec(first)?.[0];
  if (dashes === undefined) {
    if (!isField.test(first)) return undefined;
    const warning = 'Its front matter is not opened with a line of three hyphens.';
    return { source: `---\n${text}`, language: '', wrapped, warnings: [...warnings, warning] };
  }
  const tag = first.slice(dashes.length).trim();
  if (isField.test(tag)) return { source: `---\n${tag}\n${rest}`, language: '', wrapped, warnings };
  if (tag !== '' && !/^(?:#.*|\w+)$/u.test(tag)) return undefined;
  if (dashes.length > 3 && !isField.test(rest)) return undefined;
  const language = /^(?:#.*|ya?ml)?$/iu.test(tag) ? '' : oneLine(tag, 20);
  return { source: `---\n${rest}`, language, wrapped, warnings };
}

type Strict = { readonly fields: Fields; readonly body: string } | { readonly problem: string };

function readStrictly(source: string): Strict {
  const closing = source.indexOf('\n---', 3);
  if (closing === -1) return { problem: 'no line of three hyphens closes it' };
  if (LONG_GAP.test(source.slice(0, closing))) return { problem: 'it has a very long gap' };
  try {
    const file = matter(source, YAML_ONLY);
    return { fields: fieldsOf(file.data), body: file.content.replace(/^-*/u, '') };
  } catch (error) {
    return { problem: `it is not valid YAML (${oneLine(errorMessage(error), 80)})` };
  }
}

/** Valid YAML may still have lost a text, as in `description: |` with lines that are not indented. */
function completed(strict: Fields, source: string): { fields: Fields; found: string[] } {
  const empty = ['name', 'description'].filter((key) => (strict.get(key) ?? '') === '');
  if (empty.length === 0) return { fields: strict, found: [] };
  const loose = readLoosely(source).fields;
  const found = empty.filter((key) => asText(loose.get(key)) !== undefined);
  const fields = new Map([...strict, ...found.map((key) => [key, loose.get(key)] as const)]);
  return { fields, found: found.map((key) => `Its ${key} is empty for a YAML reader: it was read line by line.`) };
}

function parseMap(text: string): object {
  const value = parseYaml(text);
  if (value === null) return {};
  if (!isRecord(value)) throw new TypeError('it has no fields');
  return value;
}

function refuse(): never {
  throw new TypeError('only YAML is read');
}

function bodyOf(body: string, wrapped: boolean): string {
  const begun = withoutBlankStart(body);
  if (!wrapped) return begun;
  if (/^`{3,}[ \t]*(?:\n|$)/u.test(begun)) return withoutBlankStart(begun.replace(/^`+[ \t]*/u, ''));
  const end = begun.trimEnd();
  return end.endsWith('\n```') ? end.slice(0, -3) : begun;
}

function withoutBlankStart(text: string): string {
  const start = text.search(/\S/u);
  if (start === -1) return '';
  return text.slice(text.lastIndexOf('\n', start) + 1);
}

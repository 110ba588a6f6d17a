import type * as z from 'zod';
import { oneLine } from '../util/text.ts';
import { ConfigError, type ConfigProblem, type Position } from './config-error.ts';
import type { ConfigDocument } from './document.ts';
import { isSecretPath } from './secrets.ts';
import { valueAt } from './setting.ts';

type Issue = z.core.$ZodIssue;

/** Sections in which a text at the wrong place may be a key or a password. */
const SENSITIVE: ReadonlySet<string> = new Set(['agents', 'providers', 'channels', 'skills']);
const LONGEST_SHOWN = 60;

const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  object: 'an object { … }',
  record: 'an object { … }',
  array: 'a list [ … ]',
};

/** What the settings were read from, so that a problem can name its place and never shows a secret. */
interface Source {
  readonly file: string;
  readonly raw: unknown;
  readonly document: ConfigDocument | undefined;
  /** Paths, joined by dots, of texts that came from a variable or a file. */
  readonly referenced: ReadonlySet<string>;
  /** The variable of the environment that sets this path, if one does. */
  readonly variableOf: (path: readonly string[]) => string | undefined;
  /** Sections of extensions in which a text at the wrong place may be a key. */
  readonly sensitive: ReadonlySet<string>;
}

/** The error for values that do not fit: where, what was expected, what was given (never a secret), what to do. */
export function problemsError(issues: readonly Issue[], source: Source): ConfigError {
  const problems = issues.map((issue) => problemOf(issue, source));
  const [first, ...others] = problems;
  const place = first?.place;
  const where = place === undefined ? '' : `${source.file}:${place.line}:${place.column}: `;
  const more = others.length === 0 ? '' : ` Wrong too: ${[...new Set(others.map(({ path }) => path))].join(', ')}.`;
  return new ConfigError(`${where}${first?.sentence ?? ''} Correct it and start again.${more}`, problems, {
    file: source.file,
    paths: problems.map(({ path }) => path),
    expected: issues[0] === undefined ? undefined : expectation(issues[0]),
    ...place,
  });
}

function problemOf(issue: Issue, source: Source): ConfigProblem {
  const path = issue.path.map(String);
  const name = path.join('.');
  const value = valueAt(source.raw, path);
  const variable = source.variableOf(path);
  const shown = given(value, mayShow(issue, path, source));
  return {
    path: name,
    sentence: `${variable === undefined ? name : `${variable} (${name})`} must be ${expectation(issue)}, but ${shown}.`,
    place: variable === undefined ? placeOf(source.document, path, value) : undefined,
  };
}

function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.startsWith('expected ')
        ? spoken(issue.message)
        : (TYPES[issue.expected] ?? `a ${issue.expected}`);
    case 'too_small':
    case 'too_big':
      return bound(issue);
    case 'invalid_value':
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'invalid_key':
      return spoken(issue.issues[0]?.message ?? issue.message);
    default:
      return spoken(issue.message);
  }
}

function bound(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>): string {
  if (issue.message.startsWith('expected ')) return spoken(issue.message);
  if (issue.origin === 'array') return 'a list that is not empty';
  if (issue.code === 'too_small')
    return `a number ${issue.inclusive === true ? 'of at least' : 'above'} ${issue.minimum}`;
  return `a number of at most ${issue.maximum}`;
}

/** Where the value stands in the file; of one that is missing, what it is missing in. */
function placeOf(document: ConfigDocument | undefined, path: readonly string[], value: unknown): Position | undefined {
  const place = document?.position(path);
  if (place !== undefined || value !== undefined || path.length === 0) return place;
  return placeOf(document, path.slice(0, -1), undefined);
}

function spoken(message: string): string {
  return message.replace(/^expected /u, '');
}

function mayShow(
  issue: Issue,
  path: readonly string[],
  { referenced, sensitive }: Pick<Source, 'referenced' | 'sensitive'>,
): boolean {
  if (isSecretPath(path) || referenced.has(path.join('.'))) return false;
  const [section = ''] = path;
  return issue.code === 'invalid_value' || !(SENSITIVE.has(section) || sensitive.has(section));
}

function given(value: unknown, show: boolean): string {
  if (value === undefined) return 'it is missing';
  if (value === null) return 'null was given';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list was given' : 'a list was given';
  if (typeof value === 'object') return 'an object was given';
  if (typeof value === 'string')
    return show ? `${JSON.stringify(oneLine(value, LONGEST_SHOWN))} was given` : 'another text was given';
  return show ? `${JSON.stringify(value)} was given` : `a ${typeof value} was given`;
}

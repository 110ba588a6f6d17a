import type * as z from 'zod';
import { AppError } from '../util/errors.ts';
import { oneLine } from '../util/text.ts';
import type { ConfigDocument, Position } from './document.ts';
import { isSecretPath } from './secrets.ts';

type Issue = z.core.$ZodIssue;

/** Sections in which a text at the wrong place may be a key or a password. */
const SENSITIVE: ReadonlySet<string> = new Set(['providers', 'channels', 'mcpServers', 'hooks', 'voice', 'skills']);
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

/** The error for values that do not fit: where, what was expected, what was given (never a secret), what to do. */
export function problemsError(
  error: z.ZodError,
  source: {
    readonly file: string;
    readonly raw: unknown;
    readonly document: ConfigDocument | undefined;
    readonly referenced: ReadonlySet<string>;
  },
): AppError {
  const problems = error.issues.map((issue) => ({ issue, path: issue.path.map(String) }));
  const [first, ...others] = problems;
  const path = first?.path ?? [];
  const name = path.join('.');
  const value = valueAt(source.raw, path);
  const place = placeOf(source.document, path, value);
  const where = place === undefined ? '' : `${source.file}:${place.line}:${place.column}: `;
  const expected = first === undefined ? 'something else' : expectation(first.issue);
  const shown = given(value, mayShow(first?.issue, path, source.referenced));
  const more =
    others.length === 0 ? '' : ` Wrong too: ${[...new Set(others.map((other) => other.path.join('.')))].join(', ')}.`;
  return new AppError(
    'config-invalid',
    `${where}${name} must be ${expected}, but ${shown}. Correct it and start again.${more}`,
    {
      exitCode: 78,
      facts: { file: source.file, paths: problems.map((problem) => problem.path.join('.')), expected, ...place },
    },
  );
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

function mayShow(issue: Issue | undefined, path: readonly string[], referenced: ReadonlySet<string>): boolean {
  if (isSecretPath(path) || referenced.has(path.join('.'))) return false;
  return issue?.code === 'invalid_value' || !SENSITIVE.has(path[0] ?? '');
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

function valueAt(raw: unknown, path: readonly string[]): unknown {
  let at = raw;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = Object.entries(at).find(([name]) => name === key)?.[1];
  }
  return at;
}

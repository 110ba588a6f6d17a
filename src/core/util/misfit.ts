import type * as z from 'zod';
import { oneLine } from './text.ts';

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  function: 'a function',
};
const LONGEST_SHOWN = 40;

/**
 * Why a value of somebody else's code does not have a shape: the field, what was expected, what was given. Null when it
 * has. A getter that throws is such a reason too. `what` names the value itself.
 */
export function misfit(value: unknown, schema: z.ZodType, what: string): string | null {
  let issue: z.core.$ZodIssue | undefined;
  try {
    issue = schema.safeParse(value).error?.issues[0];
  } catch (error) {
    return `${what} cannot be read: ${thrownLine(error)}`;
  }
  if (issue === undefined) return null;
  // Of alternatives that are told apart by a field it names that field, though none of them fits.
  const path =
    issue.code === 'invalid_union' && issue.discriminator !== undefined ? issue.path.slice(0, -1) : issue.path;
  const field = [what, ...path.map(String)].filter((part) => part !== '').join('.');
  return `${field} must be ${expectation(issue)}, but ${given(valueAt(value, path))}`;
}

/** What a value is, in words: `a number was given (5)`. */
export function given(value: unknown): string {
  if (value === undefined) return 'it is missing';
  if (value === null) return 'null was given';
  if (Array.isArray(value)) return 'a list was given';
  switch (typeof value) {
    case 'string':
      return `${JSON.stringify(oneLine(value, LONGEST_SHOWN))} was given`;
    case 'number':
    case 'boolean':
    case 'bigint':
      return `${String(value)} was given`;
    case 'object':
      return 'an object was given';
    default:
      return `a ${typeof value} was given`;
  }
}

/** What somebody else's code threw, on one line without a full stop; never throws. */
export function thrownLine(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? thrown.message || thrown.name : thrown;
    if (typeof text !== 'string') return 'it threw something that is not an error';
    return oneLine(text, 300).replace(/[.\s]+$/u, '');
  } catch {
    return 'it threw an error that cannot be read';
  }
}

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? `a ${issue.expected}`;
    case 'invalid_value':
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'a text that is not empty' : `at least ${issue.minimum}`;
    case 'too_big':
      return `at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = Object.entries(at).find(([name]) => name === String(key))?.[1];
  }
  return at;
}

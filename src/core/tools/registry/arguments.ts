import * as z from 'zod';
import { failureLine } from './result.ts';

export type ParsedArguments =
  | { readonly ok: true; readonly params: Record<string, unknown> }
  | { readonly ok: false; readonly problem: string };

/**
 * Parses the arguments of a call and checks them against the tool's schema. Text that is no JSON is refused, never repaired.
 * Harmless mistakes in valid JSON are corrected: another program's name of a parameter, "5" for 5, a single value for a list, null for an absent field.
 */
export function parseArguments(schema: z.ZodObject, text: string): ParsedArguments {
  let given: unknown;
  try {
    given = text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return {
      ok: false,
      problem:
        'Nothing was done: the arguments are not valid JSON. Call the tool again with one JSON object as its arguments.',
    };
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return {
      ok: false,
      problem: 'Nothing was done: the arguments must be a JSON object. Call the tool again with one.',
    };
  }
  try {
    return fitted(schema, given);
  } catch (error) {
    // The schema of a tool that comes from elsewhere may do anything.
    return { ok: false, problem: `The arguments could not be checked, so nothing was done: ${failureLine(error)}` };
  }
}

function fitted(schema: z.ZodObject, given: object): ParsedArguments {
  const asGiven = schema.safeParse(given);
  // A tool of an MCP server may take fields that its schema doesn't name. Schemas of zod 3 have no `def`.
  const { def }: Partial<z.ZodObject> = schema;
  if (asGiven.success && def?.catchall !== undefined) return { ok: true, params: asGiven.data };
  const named = withOwnNames(schema, Object.fromEntries(Object.entries(given)));
  const first = schema.safeParse(named);
  if (first.success) return { ok: true, params: first.data };
  const repaired = structuredClone(named);
  for (const issue of first.error.issues) repair(repaired, issue);
  const second = schema.safeParse(repaired);
  if (second.success) return { ok: true, params: second.data };
  return { ok: false, problem: describe(second.error, repaired) };
}

function repair(root: unknown, issue: z.core.$ZodIssue): void {
  const key = issue.path.at(-1);
  const parent = valueAt(root, issue.path.slice(0, -1));
  if (key === undefined || typeof parent !== 'object' || parent === null) return;
  const holder = parent as Record<PropertyKey, unknown>;
  const value = holder[key];
  if (value === null) {
    delete holder[key];
    return;
  }
  if (issue.code !== 'invalid_type') return;
  const better = convert(value, issue.expected);
  if (better !== undefined) holder[key] = better;
}

function convert(value: unknown, expected: string): unknown {
  if ((expected === 'number' || expected === 'int') && typeof value === 'string' && value.trim() !== '') {
    const number = Number(value);
    return Number.isFinite(number) ? number : undefined;
  }
  if (expected === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if (expected === 'string' && Number.isSafeInteger(value)) return String(value);
  if (expected === 'array' && (typeof value === 'string' || typeof value === 'number')) return [value];
  return undefined;
}

function describe({ issues }: z.ZodError, root: unknown): string {
  const sentences = issues.slice(0, 5).map((issue) => {
    const field = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') return `unknown field ${issue.keys.join(', ')}`;
    const given = valueAt(root, issue.path);
    const got = given === undefined ? 'it is missing' : `${JSON.stringify(given)?.slice(0, 80)} was given`;
    return `${field === '' ? 'the arguments' : field}: ${issue.message.replace(/^Invalid (?:input|option): |, received .*$/gu, '')}, but ${got}`;
  });
  return `Nothing was done, because the arguments do not fit the tool: ${sentences.join('; ')}. Correct them and call it again.`;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let at = root;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<PropertyKey, unknown>)[key];
  }
  return at;
}

/**
 * Names of one parameter in other programs (Claude Code, Codex, OpenClaw, nanobot and others), which models use by habit.
 * Within a row each name stands for the first one, if the tool has that. Each also counts in snake_case and in camelCase.
 */
const SAME: readonly (readonly string[])[] = [
  ['path', 'filePath', 'filepath', 'filename', 'file', 'absolutePath', 'relativePath', 'targetFile', 'notebookPath'],
  ['path', 'dir', 'directory', 'dirPath', 'directoryPath', 'folder'],
  ['oldText', 'oldString', 'oldStr', 'old', 'search'],
  ['newText', 'newString', 'newStr', 'new', 'replace', 'replacement'],
  ['replaceAll', 'all'],
  ['command', 'cmd', 'script', 'code', 'shellCommand', 'commandLine'],
  ['cwd', 'workdir', 'workingDir', 'workingDirectory'],
  ['timeoutSeconds', 'timeoutSecs', 'timeoutSec'],
  ['background', 'runInBackground', 'isBackground'],
  ['content', 'contents', 'text', 'fileText', 'body', 'data'],
  ['text', 'message', 'content', 'body'],
  ['query', 'q', 'searchQuery', 'searchTerm', 'keywords'],
  ['url', 'uri', 'link', 'address', 'href'],
  ['pattern', 'regex', 'regexp', 'query', 'search', 'searchPattern', 'globPattern', 'glob'],
  ['glob', 'include', 'filePattern', 'includePattern', 'includes'],
  ['limit', 'headLimit', 'maxResults', 'numResults', 'count', 'topK', 'max', 'n', 'lineCount'],
  ['count', 'limit', 'maxResults', 'numResults', 'topK', 'n'],
  ['offset', 'startLine', 'lineOffset', 'viewOffset', 'from'],
  ['zone', 'timezone', 'timeZone', 'tz'],
  ['depth', 'maxDepth'],
  ['context', 'contextLines', '-C'],
  ['task', 'prompt', 'instructions', 'goal'],
  ['name', 'skill', 'skillName'],
  ['fact', 'text', 'content', 'memory', 'note'],
];

/** The tool's own parameter that a name from another program means; undefined: the tool has no such parameter. */
export function ownParameter(name: string, has: (parameter: string) => boolean): string | undefined {
  const spelled = camelCase(name);
  const own = [name, spelled, snakeCase(name)].find(has);
  return own ?? SAME.find(([first = '', ...others]) => has(first) && others.includes(spelled))?.[0];
}

/** A name in camelCase, e.g. `filePath` for `file_path`. */
export function camelCase(name: string): string {
  return name.replace(/(?<=[a-z\d])_(?<first>[a-z\d])/gu, (_, first: string) => first.toUpperCase());
}

function snakeCase(name: string): string {
  return name.replace(/(?<=[a-z\d])[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Arguments with the tool's own parameter names. A name is replaced only where the tool has no parameter of that name and
 * the right one is absent. Objects in lists, such as the edits of a patch, are read in the same way.
 */
function withOwnNames(schema: z.ZodObject, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const has = (name: string): boolean => Object.hasOwn(schema.shape, name);
  const own: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const better = ownParameter(name, has) ?? name;
    const isFree = better === name || (!Object.hasOwn(given, better) && !Object.hasOwn(own, better));
    const parameter = isFree ? better : name;
    own[parameter] = listWithOwnNames(schema.shape[parameter], value);
  }
  return own;
}

function listWithOwnNames(schema: unknown, value: unknown): unknown {
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  if (!(inner instanceof z.ZodArray) || !(inner.element instanceof z.ZodObject) || !Array.isArray(value)) return value;
  const { element } = inner;
  return value.map((item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? withOwnNames(element, Object.fromEntries(Object.entries(item)))
      : item,
  );
}

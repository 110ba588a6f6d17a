import * as z from 'zod';

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
export function withOwnNames(schema: z.ZodObject, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
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

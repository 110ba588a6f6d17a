import * as z from 'zod';

/**
 * Names of one parameter in other programs (Claude Code, Codex, OpenClaw, nanobot and others), which models use by habit.
 * Within a row each name stands for whichever of them the tool has.
 */
const SAME: readonly (readonly string[])[] = [
  [
    'path',
    'file_path',
    'filepath',
    'filename',
    'file',
    'absolute_path',
    'relative_path',
    'target_file',
    'notebook_path',
  ],
  ['path', 'dir', 'directory', 'dir_path', 'directory_path', 'folder'],
  ['oldText', 'old_string', 'old_str', 'old_text', 'old', 'search', 'oldString', 'oldStr'],
  ['newText', 'new_string', 'new_str', 'new_text', 'new', 'replace', 'replacement', 'newString', 'newStr'],
  ['replaceAll', 'replace_all', 'all'],
  ['command', 'cmd', 'script', 'code', 'shell_command', 'commandLine', 'command_line'],
  ['cwd', 'workdir', 'working_dir', 'working_directory', 'workingDirectory'],
  ['timeoutSeconds', 'timeout_seconds', 'timeout_secs', 'timeout_sec'],
  ['background', 'run_in_background', 'is_background'],
  ['content', 'contents', 'text', 'file_text', 'body', 'data'],
  ['text', 'message', 'content', 'body'],
  ['query', 'q', 'search_query', 'search_term', 'keywords'],
  ['url', 'uri', 'link', 'address', 'href'],
  ['pattern', 'regex', 'regexp', 'query', 'search', 'search_pattern', 'glob_pattern', 'glob'],
  ['glob', 'include', 'file_pattern', 'include_pattern', 'includes'],
  ['limit', 'head_limit', 'max_results', 'maxResults', 'num_results', 'count', 'top_k', 'max', 'n', 'line_count'],
  ['count', 'limit', 'max_results', 'maxResults', 'num_results', 'numResults', 'top_k', 'n'],
  ['offset', 'start_line', 'startLine', 'line_offset', 'view_offset', 'from'],
  ['depth', 'max_depth', 'maxDepth'],
  ['context', 'context_lines', '-C', 'contextLines'],
  ['task', 'prompt', 'instructions', 'goal'],
  ['name', 'skill', 'skill_name'],
  ['fact', 'text', 'content', 'memory', 'note'],
];

/** The tool's own parameter that a name from another program means; undefined: the tool has no such parameter. */
export function ownParameter(name: string, has: (parameter: string) => boolean): string | undefined {
  if (has(name)) return name;
  for (const [own = '', ...others] of SAME) if (has(own) && others.includes(name)) return own;
  return undefined;
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

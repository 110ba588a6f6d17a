import { dirname, relative, sep } from 'node:path';
import { type Inside, oneLine, type PathGuard, within } from '../../../core/api-paths.ts';
import {
  askToRead,
  bitsOf,
  callerOf,
  defineTool,
  errorResult,
  escapeControlChars,
  type Marks,
  NAMES_SOURCE,
  planInside,
  type Planned,
  showsInGroup,
  TEXT_SOURCE,
  type Tool,
  type ToolContext,
} from '../../../core/api-tools.ts';
import { z } from '../../../core/api.ts';
import type { FindFiles } from './find.ts';
import type { WalkBase } from './walk.ts';

const FILES = 200;
const MOST_FILES = 2_000;
const MATCHES = 100;
const MOST_MATCHES = 1_000;
const MOST_CONTEXT = 20;

export interface SearchOptions {
  readonly guard: PathGuard;
  readonly find: FindFiles;
  /** Characters of one page. */
  readonly pageChars: number;
  /** @default no file is marked */
  readonly marks?: Marks;
}

const common = {
  ignored: z.boolean().optional().describe('True finds what .gitignore names too. Default: false.'),
  offset: z.int().min(0).optional().describe('Results to skip. Default: 0.'),
};

const globParameters = z.object({
  pattern: z
    .string()
    .min(1)
    .describe('Glob pattern, e.g. *.md for names in any folder or src/**/*.{ts,js} for paths below path.'),
  path: z.string().min(1).optional().describe('Folder to search, e.g. projects/site. Default: the workspace.'),
  ...common,
  limit: z
    .int()
    .min(1)
    .max(MOST_FILES)
    .optional()
    .describe(`Most paths to return, 1 to ${MOST_FILES}. Default: ${FILES}.`),
});

const grepParameters = z.object({
  pattern: z.string().min(1).describe('JavaScript regular expression for a single line, e.g. TODO|FIXME.'),
  path: z.string().min(1).optional().describe('Folder or file to search, e.g. projects/site. Default: the workspace.'),
  glob: z
    .string()
    .min(1)
    .optional()
    .describe('Glob pattern of the files to search, e.g. *.ts or src/**/*.md. Default: all text files.'),
  mode: z
    .enum(['lines', 'files', 'count'])
    .optional()
    .describe(
      'What to return: lines that match, files (paths) with a match, or count, how many match in each. Default: lines.',
    ),
  context: z
    .int()
    .min(0)
    .max(MOST_CONTEXT)
    .optional()
    .describe(`Lines to show before and after each match, 0 to ${MOST_CONTEXT}. Default: 0.`),
  ignoreCase: z.boolean().optional().describe('True ignores upper and lower case. Default: false.'),
  ...common,
  limit: z
    .int()
    .min(1)
    .max(MOST_MATCHES)
    .optional()
    .describe(`Most results to return, 1 to ${MOST_MATCHES}. Default: ${MATCHES}.`),
});

/** Creates the tool that finds files by their names. */
export function globTool(options: SearchOptions): Tool {
  return defineTool({
    name: 'glob',
    onlyReads: true,
    source: NAMES_SOURCE,
    description:
      'Find files below a folder by their names; returns paths, the last changed first. To search what files contain use grep. It skips .git, node_modules and what .gitignore names.',
    parameters: globParameters,
    effect: 'none',
    plan: ({ pattern, limit = FILES, ...params }, context) =>
      planSearch(options, { ...params, glob: pattern, limit }, context),
  });
}

/** Creates the tool that searches what is in files. */
export function grepTool(options: SearchOptions): Tool {
  return defineTool({
    name: 'grep',
    onlyReads: true,
    source: TEXT_SOURCE,
    description:
      'Search text files for a regular expression; returns the matching lines with paths and line numbers. To find files by name use glob. It skips binary files, .git, node_modules and what .gitignore names.',
    parameters: grepParameters,
    effect: 'none',
    plan: ({ limit = MATCHES, ...params }, context) => planSearch(options, { ...params, limit }, context),
  });
}

/** What both tools are given. Without `pattern`, files are found by their names alone. */
export type SearchParams = Partial<z.infer<typeof grepParameters>> & { readonly limit: number };

function planSearch(
  { guard, find, pageChars, marks }: SearchOptions,
  { path, glob, ...params }: SearchParams,
  context: ToolContext,
): Promise<Planned> {
  // An absolute pattern is searched in the folder before its first wildcard.
  const [start = ''] = path === undefined && glob?.startsWith('/') === true ? (/^[^*?[{\\]*\//u.exec(glob) ?? []) : [];
  const from = path ?? (start || '.');
  const rest = glob?.slice(start.length);
  const { pattern } = params;
  // In a group, names of files are the owner's too, and which files match says what is in them.
  const about = pattern === undefined ? `names of files that match ${glob ?? ''}` : `what matches ${pattern}`;
  return planInside(guard, { path: from, access: 'read' }, context, (place) => ({
    asks: askToRead(place),
    reaches: showsInGroup(escapeControlChars(`${from}: ${about}`)),
    run: async (signal) => {
      const title = pattern === undefined ? `found ${oneLine(glob ?? '', 60)}` : `searched ${oneLine(pattern, 60)}`;
      const { base, prefix } = await searchBaseOf(guard, place, context);
      if (pattern === undefined && !base.isFolder) {
        return errorResult(title, `${from} is a file; a folder was expected.`);
      }
      const { shown, ...found } = await find(
        { ...params, glob: start === '' || rest === '' ? glob : `./${rest}`, base, prefix, pageChars },
        { signal, progress: context.people.progress },
      );
      const bits = await bitsOf(marks, named(shown, base.path), context.person.role);
      return { title, ...found, ...bits };
    },
  }));
}

/** These files, and the folders whose names are part of what is shown of them. */
function named(files: readonly string[], base: string): ReadonlySet<string> {
  const paths = new Set(files);
  for (const file of files) {
    for (let at = dirname(file); at !== base && within(base, at) && !paths.has(at); at = dirname(at)) paths.add(at);
  }
  return paths;
}

/** Where a search begins, and how its files are called so that other tools find them. */
export async function searchBaseOf(
  guard: PathGuard,
  { pinned }: Inside,
  context: ToolContext,
): Promise<{ readonly base: WalkBase; readonly prefix: string }> {
  const caller = callerOf(context);
  const roots = await guard.rootsFor(caller);
  const { untrusted } = caller.taint;
  const isFolder = pinned.stat.isDirectory();
  const rules = { access: 'read', caller: { ...caller, taint: { untrusted } }, roots } as const;
  const base = { path: pinned.path, isFolder, rules };
  const name = within(roots.workspace, base.path) ? relative(roots.workspace, base.path) : base.path;
  const isWhole = !isFolder || name === '' || name.endsWith(sep);
  return { base, prefix: isWhole ? name : `${name}/` };
}

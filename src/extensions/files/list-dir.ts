import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  decidePath,
  errorMessage,
  harmless,
  type Inside,
  type PathGuard,
  plural,
  refused,
} from '../../core/api-paths.ts';
import {
  askToRead,
  bitsOf,
  callerOf,
  defineTool,
  escapeControlChars,
  type Executed,
  type Marks,
  NAMES_SOURCE,
  openAllowed,
  planInside,
  showsInGroup,
  type Tool,
  type ToolContext,
} from '../../core/api-tools.ts';
import { z } from '../../core/api.ts';
import { NOT_ENTERED } from './search/walk.ts';

const MOST_ENTRIES = 500;
const DEEPEST = 8;
/** Of one folder. */
const MOST_NAMES = 10_000;

const parameters = z.object({
  path: z.string().min(1).optional().describe('Folder to list, e.g. projects/site. Default: the workspace.'),
  depth: z
    .int()
    .min(1)
    .max(DEEPEST)
    .optional()
    .describe(`Levels of folders to list, 1 to ${DEEPEST}. Default: 1, the folder alone.`),
});

export function listDirTool(guard: PathGuard, marks?: Marks): Tool {
  return defineTool({
    name: 'list_dir',
    fits: 'small',
    onlyReads: true,
    source: NAMES_SOURCE,
    description: 'List what is in a folder, with sizes of files. To find files by name in many folders use glob.',
    parameters,
    effect: 'none',
    plan: ({ path = '.', depth = 1 }, context) =>
      planInside(guard, { path, access: 'read' }, context, (place) => ({
        asks: askToRead(place),
        // In a group, names of files are the owner's too.
        reaches: showsInGroup(escapeControlChars(`${path}: names of files`)),
        run: async (signal): Promise<Executed> => {
          const listing: Listing = { guard, context: { ...context, signal }, lines: [], paths: [] };
          const more = await list(listing, { place, path, indent: '' }, depth);
          const { lines, paths } = listing;
          const bits = await bitsOf(marks, paths, context.person.role);
          const rest = more ? `\n(there are more than ${MOST_ENTRIES} entries; list one of the folders in it)` : '';
          return {
            title: `listed ${path}`,
            output: lines.length === 0 ? '(the folder is empty)' : lines.join('\n') + rest,
            metadata: { entries: lines.length, truncated: more },
            ...bits,
          };
        },
      })),
  });
}

interface Listing {
  readonly guard: PathGuard;
  readonly context: ToolContext;
  readonly lines: string[];
  /** Real paths of what is shown, and of the folders that were entered. */
  readonly paths: string[];
}

/** True when not everything fitted. */
async function list(
  listing: Listing,
  { place, path, indent }: { readonly place: Inside; readonly path: string; readonly indent: string },
  depth: number,
): Promise<boolean> {
  const { guard, context, lines, paths } = listing;
  const { entries, more } = await entriesOf(place, path, listing);
  paths.push(place.path);
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (lines.length >= MOST_ENTRIES) return true;
    context.signal.throwIfAborted();
    lines.push(indent + describe(entry));
    paths.push(join(place.path, entry.name));
    if (!entry.info.isDirectory() || depth <= 1 || NOT_ENTERED.has(entry.name)) continue;
    const below = join(path, entry.name);
    try {
      using inner = await openAllowed(guard, { path: below, access: 'read' }, context);
      if (await list(listing, { place: inner, path: below, indent: `${indent}  ` }, depth - 1)) return true;
    } catch (error) {
      lines.push(`${indent}  (${errorMessage(error)})`);
    }
  }
  return more;
}

interface ListedEntry {
  readonly name: string;
  readonly info: Stats;
}

/** The entries of a folder that the caller may know of, unordered, at most 10,000; `more`: there are others. */
async function entriesOf(
  { pinned }: Inside,
  path: string,
  { guard, context }: Listing,
): Promise<{ readonly entries: readonly ListedEntry[]; readonly more: boolean }> {
  if (!pinned.stat.isDirectory()) throw refused(`${path} is not a directory.`);
  const caller = callerOf(context);
  const roots = await guard.rootsFor(caller);
  const names: string[] = [];
  for await (const { name } of await opendir(pinned.self)) {
    if (decidePath(join(pinned.path, name), 'read', caller, roots).decision !== 'deny') names.push(name);
    if (names.length > MOST_NAMES) break;
  }
  const entries = names.slice(0, MOST_NAMES).map(async (name): Promise<readonly ListedEntry[]> => {
    const info = await lstat(pinned.at(name)).catch(() => undefined);
    return info === undefined ? [] : [{ name, info }];
  });
  return { entries: (await Promise.all(entries)).flat(), more: names.length > MOST_NAMES };
}

function describe({ name: named, info }: ListedEntry): string {
  // A file name is untrusted: it must not break its line.
  const name = harmless(named).replaceAll('\n', '␊');
  if (info.isDirectory()) return `${name}/`;
  return info.isFile()
    ? `${name}  ${plural(info.size, 'byte')}`
    : `${name}  (${info.isSymbolicLink() ? 'link' : 'other'})`;
}

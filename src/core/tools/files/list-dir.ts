import { join } from 'node:path';
import * as z from 'zod';
import type { ListedEntry, PathGuard } from '../../security/paths/guard.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { harmless } from '../../security/text/untrusted.ts';
import { errorMessage } from '../../util/errors.ts';
import { plural } from '../../util/text.ts';
import { decidePathUse, useOf } from './access.ts';
import { NOT_ENTERED } from './search/finding.ts';
import { bitsOfFolders, type FileOrigins, NAMES_SOURCE } from './taint.ts';
import { defineTool, type Tool, type ToolContext } from '../tool.ts';

const MOST_ENTRIES = 500;
const DEEPEST = 8;

const parameters = z.object({
  path: z.string().min(1).optional().describe('Folder to list, e.g. projects/site. Default: the workspace.'),
  depth: z
    .int()
    .min(1)
    .max(DEEPEST)
    .optional()
    .describe(`Levels of folders to list, 1 to ${DEEPEST}. Default: 1, the folder alone.`),
});

export function listDirTool(guard: PathGuard, origins?: FileOrigins): Tool {
  return defineTool({
    name: 'list_dir',
    fits: 'small',
    onlyReads: true,
    source: NAMES_SOURCE,
    description: 'List what is in a folder, with sizes of files. To find files by name in many folders use glob.',
    parameters,
    effect: 'none',
    // In a group, names of files are the owner's too.
    shows: ({ path = '.' }) => escapeControlChars(`${path}: names of files`),
    decide: ({ path = '.' }, context) => decidePathUse(guard, path, 'read', context),
    execute: async ({ path = '.', depth = 1 }, context) => {
      const lines: string[] = [];
      const names: string[] = [];
      const folders: string[] = [];
      const more = await list({ guard, context, lines, names, folders }, path, '', depth);
      const title = `listed ${path}`;
      const bits = await bitsOfFolders(origins, { folders, names });
      const rest = more ? `\n(there are more than ${MOST_ENTRIES} entries; list one of the folders in it)` : '';
      return {
        title,
        output: lines.length === 0 ? '(the folder is empty)' : lines.join('\n') + rest,
        metadata: { entries: lines.length, truncated: more },
        ...bits,
      };
    },
  });
}

interface Listing {
  readonly guard: PathGuard;
  readonly context: ToolContext;
  readonly lines: string[];
  readonly names: string[];
  /** Real paths of those that were entered. */
  readonly folders: string[];
}

/** True when not everything fitted. */
async function list(listing: Listing, path: string, indent: string, depth: number): Promise<boolean> {
  const { guard, context, lines, names, folders } = listing;
  const { path: real, entries, more } = await guard.list(path, useOf(context));
  folders.push(real);
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (lines.length >= MOST_ENTRIES) return true;
    context.signal.throwIfAborted();
    lines.push(indent + describe(entry));
    names.push(entry.name);
    if (entry.kind !== 'directory' || depth <= 1 || NOT_ENTERED.has(entry.name)) continue;
    const inner = await list(listing, join(path, entry.name), `${indent}  `, depth - 1).catch((error: unknown) => {
      lines.push(`${indent}  (${errorMessage(error)})`);
      return false;
    });
    if (inner) return true;
  }
  return more;
}

function describe({ name: named, kind, size }: ListedEntry): string {
  // A file name is untrusted: it must not break its line.
  const name = harmless(named).replaceAll('\n', '␊');
  if (kind === 'directory') return `${name}/`;
  return kind === 'file' ? `${name}  ${plural(size, 'byte')}` : `${name}  (${kind})`;
}

import * as z from 'zod';
import { escapeControlChars } from '../../../security/text/control-characters.ts';
import { oneLine } from '../../../util/text.ts';
import { askToRead, planInside } from '../access.ts';
import { defineTool, showsInGroup, type Tool } from '../../tool.ts';
import { searchBaseOf, foundResult, IGNORED, placeOf, patternIn, type FindToolOptions } from './find-tool.ts';
import { TEXT_SOURCE } from '../taint.ts';

const LIMIT = 100;
const MOST = 1_000;
const MOST_CONTEXT = 20;

const parameters = z.object({
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
  ignored: IGNORED,
  offset: z.int().min(0).optional().describe('Results to skip. Default: 0.'),
  limit: z.int().min(1).max(MOST).optional().describe(`Most results to return, 1 to ${MOST}. Default: ${LIMIT}.`),
});

export function grepTool({ guard, find, pageChars, origins }: FindToolOptions): Tool {
  return defineTool({
    name: 'grep',
    onlyReads: true,
    source: TEXT_SOURCE,
    description:
      'Search text files for a regular expression; returns the matching lines with paths and line numbers. To find files by name use glob. It skips binary files, .git, node_modules and what .gitignore names.',
    parameters,
    effect: 'none',
    plan: ({ pattern, path, glob, mode = 'lines', ...rest }, context) => {
      const from = placeOf(glob, path);
      return planInside(guard, { path: from, access: 'read' }, context, (place) => ({
        asks: askToRead(place),
        // Also which files match says what is in them.
        reaches: showsInGroup(escapeControlChars(`${from}: what matches ${pattern}`)),
        run: async (signal) => {
          const { base, prefix } = await searchBaseOf(guard, place, context);
          const task = {
            kind: 'grep' as const,
            base,
            prefix,
            pattern,
            glob: glob === undefined ? null : patternIn(glob, path),
            mode,
            context: rest.context ?? 0,
            ignoreCase: rest.ignoreCase ?? false,
            ignored: rest.ignored ?? false,
            offset: rest.offset ?? 0,
            limit: rest.limit ?? LIMIT,
            pageChars,
          };
          const found = await find(task, { signal, progress: context.people.progress });
          const what = mode === 'lines' ? 'match' : 'file with a match';
          return await foundResult(found, { title: `searched ${oneLine(pattern, 60)}`, what, origins });
        },
      }));
    },
  });
}

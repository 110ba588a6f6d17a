import * as z from 'zod';
import { escapeControlChars } from '../../../security/text/control-characters.ts';
import { oneLine } from '../../../util/text.ts';
import { askToRead, planInside } from '../access.ts';
import { errorResult } from '../../registry/result.ts';
import { defineTool, showsInGroup, type Tool } from '../../tool.ts';
import { searchBaseOf, foundResult, IGNORED, placeOf, patternIn, type FindToolOptions } from './find-tool.ts';
import { NAMES_SOURCE } from '../taint.ts';

const LIMIT = 200;
const MOST = 2_000;

const parameters = z.object({
  pattern: z
    .string()
    .min(1)
    .describe('Glob pattern, e.g. *.md for names in any folder or src/**/*.{ts,js} for paths below path.'),
  path: z.string().min(1).optional().describe('Folder to search, e.g. projects/site. Default: the workspace.'),
  ignored: IGNORED,
  offset: z.int().min(0).optional().describe('Results to skip. Default: 0.'),
  limit: z.int().min(1).max(MOST).optional().describe(`Most paths to return, 1 to ${MOST}. Default: ${LIMIT}.`),
});

/** Creates the tool `glob`, which finds files by their names. */
export function globTool({ guard, find, pageChars, origins }: FindToolOptions): Tool {
  return defineTool({
    name: 'glob',
    onlyReads: true,
    source: NAMES_SOURCE,
    description:
      'Find files below a folder by their names; returns paths, the last changed first. To search what files contain use grep. It skips .git, node_modules and what .gitignore names.',
    parameters,
    effect: 'none',
    plan: ({ pattern, offset = 0, limit = LIMIT, ignored = false, ...params }, context) => {
      const path = placeOf(pattern, params.path);
      return planInside(guard, { path, access: 'read' }, context, (place) => ({
        asks: askToRead(place),
        // In a group, names of files are the owner's too.
        reaches: showsInGroup(escapeControlChars(`${path}: names of files that match ${pattern}`)),
        run: async (signal) => {
          const title = `found ${oneLine(pattern, 60)}`;
          const { base, prefix } = await searchBaseOf(guard, place, context);
          if (!base.isFolder) return errorResult(title, `${path} is a file; a folder was expected.`);
          const found = await find(
            { kind: 'glob', base, prefix, pattern: patternIn(pattern, params.path), ignored, offset, limit, pageChars },
            { signal, progress: context.people.progress },
          );
          return await foundResult(found, { title, what: 'such file', origins });
        },
      }));
    },
  });
}

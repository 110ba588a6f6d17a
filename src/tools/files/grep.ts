import * as z from 'zod';
import { visible } from '../../security/visible.ts';
import { oneLine } from '../../util/text.ts';
import { decidePathUse } from '../file-access.ts';
import { defineTool, type Tool } from '../tool.ts';
import { baseOf, foundResult, type FindToolOptions } from './find-tool.ts';

const LIMIT = 100;
const MOST = 1_000;
const MOST_CONTEXT = 20;

export function grepTool({ guard, find, pageChars, origins }: FindToolOptions): Tool {
  return defineTool({
    name: 'grep',
    description: 'Search lines of files.',
    parameters: z.object({
      pattern: z.string().min(1).describe('RegExp'),
      path: z.string().min(1).optional().describe('Folder'),
      glob: z.string().min(1).optional().describe('Like *.ts'),
      mode: z.enum(['lines', 'files', 'count']).optional().describe('Default lines'),
      context: z.int().min(0).max(MOST_CONTEXT).optional().describe('Lines around'),
      ignoreCase: z.boolean().optional().describe('Any case'),
      offset: z.int().min(0).optional().describe('To skip'),
      limit: z.int().min(1).max(MOST).optional().describe(`Default ${LIMIT}`),
    }),
    effect: 'none',
    // Also which files match says what is in them.
    shows: ({ pattern, path = '.' }) => visible(`${path}: what matches ${pattern}`),
    decide: ({ path = '.' }, context) => decidePathUse(guard, path, 'read', context),
    execute: async ({ pattern, path = '.', glob, mode = 'lines', ...rest }, context) => {
      const { base, prefix } = await baseOf(guard, path, context);
      const task = {
        kind: 'grep' as const,
        base,
        prefix,
        pattern,
        glob: glob ?? null,
        mode,
        context: rest.context ?? 0,
        ignoreCase: rest.ignoreCase ?? false,
        offset: rest.offset ?? 0,
        limit: rest.limit ?? LIMIT,
        pageChars,
      };
      const found = await find(task, context);
      const what = mode === 'lines' ? 'match' : 'file with a match';
      return await foundResult(found, { title: `searched ${oneLine(pattern, 60)}`, what, origins });
    },
  });
}

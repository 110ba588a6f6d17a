import * as z from 'zod';
import { plural } from '../../util/text.ts';
import { replacement } from './change-preview.ts';
import { decideLoss, decidePathUse, fileTarget, type FileAccess } from './access.ts';
import { defineTool, type Tool } from '../tool.ts';
import { writeThrough } from './whole-file.ts';

const parameters = z.object({
  path: z.string().min(1).describe('Path of the file, e.g. notes/todo.md.'),
  content: z.string().describe('The whole new content of the file.'),
});

export function writeFileTool(files: FileAccess): Tool {
  return defineTool({
    name: 'write_file',
    fits: 'tiny',
    description:
      'Create a file, with missing folders, or replace the whole content of one. To change a part use edit_file.',
    parameters,
    // The same content may be written again after a crash.
    effect: 'idempotent',
    targets: ({ path }, context) => [fileTarget(path, context)],
    decide: async ({ path, content }, context) => {
      const preview = (): Promise<string> => replacement(files.guard, { path, after: content }, context);
      const decided = await decidePathUse(files.guard, path, 'write', context, preview);
      if (decided.decision !== 'allow') return decided;
      return (await decideLoss(files, { path, after: content, preview }, context)) ?? decided;
    },
    execute: async ({ path, content }, context) => {
      const bytes = Buffer.from(content, 'utf8');
      const diff = await replacement(files.guard, { path, after: content }, context);
      const { created, note } = await writeThrough(files, { path, bytes }, context);
      const lines = content === '' ? 0 : content.replace(/(?:\r\n|\r|\n)$/u, '').split(/\r\n|\r|\n/u).length;
      return {
        title: `${created ? 'created' : 'replaced'} ${path}`,
        output: `${created ? 'Created' : 'Replaced'} with ${plural(lines, 'line')}.`,
        metadata: { size: bytes.length },
        ...(note === undefined ? {} : { note }),
        ...(created ? {} : { diff }),
      };
    },
  });
}

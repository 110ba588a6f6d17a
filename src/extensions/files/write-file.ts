import { plural } from '../../core/api-paths.ts';
import {
  askToChange,
  defineTool,
  type FileAccess,
  fileTarget,
  freeText,
  planInside,
  previewOf,
  readReplaced,
  type ReplacedFile,
  type Tool,
  writeThrough,
} from '../../core/api-tools.ts';
import { z } from '../../core/api.ts';

const parameters = z.object({
  path: z.string().min(1).describe('Path of the file, e.g. notes/todo.md.'),
  content: z.string().describe('The whole new content of the file.'),
});

export function writeFileTool(files: FileAccess): Tool {
  return defineTool({
    name: 'write_file',
    fits: 'tiny',
    isRecorded: true,
    description:
      'Create a file, with missing folders, or replace the whole content of one. To change a part use edit_file.',
    parameters,
    // The same content may be written again after a crash.
    effect: 'idempotent',
    about: ({ path }, context) => [fileTarget(path, context)],
    plan: ({ path, content }, context) =>
      planInside(files.guard, { path, access: 'write' }, context, async (place) => {
        const previewOver = async (before: ReplacedFile): Promise<string> =>
          previewOf(await freeText(files.guard, place, before, context), content);
        const preview = async (): Promise<string> => previewOver(await readReplaced(place, context).catch(() => null));
        return {
          asks: await askToChange(files, place, { title: 'Change a file', after: content, preview }),
          run: async (signal) => {
            const running = { ...context, signal };
            const bytes = Buffer.from(content, 'utf8');
            const before = await readReplaced(place, running);
            const diff = await previewOver(before);
            const { note } = await writeThrough(files, place, { path, bytes, before }, running);
            const lines = content === '' ? 0 : content.replace(/(?:\r\n|\r|\n)$/u, '').split(/\r\n|\r|\n/u).length;
            const did = before === null ? 'created' : 'replaced';
            return {
              title: `${did} ${path}`,
              output: `${before === null ? 'Created' : 'Replaced'} with ${plural(lines, 'line')}.`,
              metadata: { size: bytes.length },
              ...(note === undefined ? {} : { note }),
              ...(before === null ? {} : { diff }),
            };
          },
        };
      }),
  });
}

import { filePeek } from '../../security/paths/file-peek.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { AppError } from '../../util/errors.ts';
import { plural } from '../../util/text.ts';
import { previewOf } from './change-preview.ts';
import { decidePathUse, fileTarget, type FileAccess } from './access.ts';
import { bitsOfFile } from './taint.ts';
import { decodeText, encodeText } from './file-text.ts';
import { editText, fileEditSchema } from './text-edit.ts';
import { decideLosses } from './patch-draft.ts';
import { readWhole, writeThrough } from './whole-file.ts';
import { errorResult } from '../registry/result.ts';
import { defineTool, type Executed, type Tool, type ToolContext } from '../tool.ts';

export function editFileTool(files: FileAccess): Tool {
  const { guard } = files;
  return defineTool({
    name: 'edit_file',
    fits: 'small',
    description:
      'Replace one exact piece of text in a file, or every occurrence of it. Read the file first. For several replacements use apply_patch; for a new file or all new content use write_file.',
    parameters: fileEditSchema,
    // Done twice it would fail, or change a second place: after a crash its outcome counts as unknown.
    effect: 'effect',
    targets: ({ path }, context) => [fileTarget(path, context)],
    // What does not fit is answered with the lines that stand there.
    shows: ({ path, oldText, newText }) =>
      oldText === '' ? null : `${escapeControlChars(path)}\n${previewOf(oldText, newText)}`,
    decide: async (edit, context) => {
      const preview = (): string => previewOf(edit.oldText, edit.newText);
      const decided = await decidePathUse(guard, edit.path, 'write', context, preview);
      return decided.decision === 'allow' ? await decideLosses([edit], files, { context, preview }) : decided;
    },
    // What becomes of the file depends on what it holds now.
    binds: async ({ path }) => ({ content: await filePeek.look(guard.resolve(path)) }),
    execute: async ({ path, ...edit }, context) => {
      const title = `edit ${path}`;
      if (edit.oldText === '') return createNew(files, { path, newText: edit.newText }, context);
      const read = await readWhole(guard, path, context);
      const decoded = decodeText(read.bytes);
      if ('binary' in decoded) return errorResult(title, 'This is a binary file, so it is not edited.');
      const edited = editText(decoded.text, edit);
      if ('problem' in edited) {
        return {
          ...errorResult(title, edited.problem),
          ...(edited.shows ? await bitsOfFile(files.origins, read) : {}),
        };
      }
      const bytes = encodeText(edited.text, decoded.format);
      const { note } = await writeThrough(files, { path, bytes, read }, context);
      return {
        title: `edited ${path}`,
        output: `Replaced ${plural(edited.count, 'occurrence')} at ${edited.where}.`,
        metadata: { occurrences: edited.count },
        ...(note === undefined ? {} : { note }),
        diff: previewOf(edit.oldText, edit.newText),
      };
    },
  });
}

async function createNew(
  files: FileAccess,
  { path, newText }: { path: string; newText: string },
  context: ToolContext,
): Promise<Executed> {
  const exists = await readWhole(files.guard, path, context).then(
    () => true,
    (error: unknown) => {
      if (error instanceof AppError && error.facts['code'] === 'ENOENT') return false;
      throw error;
    },
  );
  if (exists) {
    return errorResult(
      `edit ${path}`,
      'oldText is empty, which is for new files only, and the file exists. Use write_file to replace it.',
    );
  }
  const { note } = await writeThrough(files, { path, bytes: Buffer.from(newText, 'utf8'), read: null }, context);
  const metadata = { size: Buffer.byteLength(newText) };
  return { title: `created ${path}`, output: 'Created.', metadata, ...(note === undefined ? {} : { note }) };
}

import type { Stats } from 'node:fs';
import * as z from 'zod';
import { filePeek } from '../../security/paths/file-peek.ts';
import type { PathGuard } from '../../security/paths/guard.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { plural } from '../../util/text.ts';
import { previewOf } from './change-preview.ts';
import { fileTarget, useOf, type FileAccess } from './access.ts';
import { replaceFile, type ShownFile } from './editor-buffer.ts';
import { bitsOfFiles } from './taint.ts';
import { errorResult, failureLine } from '../registry/result.ts';
import { defineTool, type Tool, type ToolContext, type ToolDecision } from '../tool.ts';
import { decideLosses, draftPatch, type DraftedFile, type FileEdit } from './patch-draft.ts';
import { fileEditSchema } from './text-edit.ts';
import { writeThrough } from './whole-file.ts';

const MOST_EDITS = 100;
/** How many problems, and how many edits in a question, are shown. */
const MOST_SHOWN = 10;

const parameters = z.object({
  edits: z
    .array(fileEditSchema)
    .min(1)
    .max(MOST_EDITS)
    .describe(`At most ${MOST_EDITS} replacements, made in order, each on what the earlier ones left.`),
});

export function applyPatchTool(files: FileAccess): Tool {
  const { guard, origins } = files;
  return defineTool({
    name: 'apply_patch',
    description:
      'Make several exact text replacements in one or more files as one step: if one cannot be made, no file changes. Read the files first. For a single replacement use edit_file.',
    parameters,
    // Done twice it would fail, or change other places: after a crash its outcome counts as unknown.
    effect: 'effect',
    targets: ({ edits }, context) =>
      [...new Set(edits.map(({ path }) => path))].map((path) => fileTarget(path, context)),
    // What does not fit is answered with the lines that stand there.
    shows: ({ edits }) => (edits.every(({ oldText }) => oldText === '') ? null : previewOfEdits(edits)),
    decide: ({ edits }, context) => decidePatch(edits, files, context),
    // What becomes of the files depends on what they hold now.
    binds: async ({ edits }) => {
      const paths = [...new Set(edits.map(({ path }) => guard.resolve(path)))];
      return { contents: await Promise.all(paths.map(async (path) => [path, await filePeek.look(path)])) };
    },
    execute: async ({ edits }, context) => {
      const draft = await draftPatch(edits, files, context);
      if ('problems' in draft) {
        const { problems, shown } = draft;
        const more = problems.length > MOST_SHOWN ? [`… and ${problems.length - MOST_SHOWN} more.`] : [];
        const output = ['Nothing was changed.', ...problems.slice(0, MOST_SHOWN), ...more].join('\n');
        const bits = shown.length === 0 ? {} : await bitsOfFiles(origins, { paths: [], shown });
        return { ...errorResult('patch', output, { problems: problems.length }), ...bits };
      }
      const written = await writeAll(draft.files, files, context);
      if ('failure' in written) return errorResult('patch', written.failure);
      const note = written.notes.join('\n');
      return {
        title: `patched ${plural(draft.files.length, 'file')}`,
        output: draft.files.map(({ path, done }) => `${path}: ${done}`).join('\n'),
        metadata: { files: draft.files.length, edits: edits.length },
        ...(note === '' ? {} : { note }),
        diff: previewOfEdits(edits),
      };
    },
  });
}

/** A yes opens one file, so at most one of them may need it. */
async function decidePatch(edits: readonly FileEdit[], files: FileAccess, context: ToolContext): Promise<ToolDecision> {
  const { guard } = files;
  const asked = new Map<string, string>();
  for (const path of new Set(edits.map((edit) => edit.path))) {
    const decision = await guard.check(path, 'write', useOf(context));
    if (decision.decision === 'deny') return decision;
    if (decision.decision === 'ask') asked.set(decision.path, decision.reason);
  }
  const [first] = asked;
  if (first === undefined) return await decideLosses(edits, files, { context, preview: () => previewOfEdits(edits) });
  const [path, reason] = first;
  if (asked.size > 1) {
    return {
      decision: 'deny',
      reason: `${asked.size} of these files need a yes each; change them in calls of their own.`,
    };
  }
  const detail = [escapeControlChars(path), previewOfEdits(edits)].join('\n\n');
  return { decision: 'ask', reason, request: { title: 'Change files', detail, reason, path } };
}

function previewOfEdits(edits: readonly FileEdit[]): string {
  return edits.map((edit) => `${escapeControlChars(edit.path)}\n${previewOf(edit.oldText, edit.newText)}`).join('\n\n');
}

/** Writes one after the other; when one fails, those before it are put back. `notes` of those that the editor took. */
async function writeAll(
  drafted: readonly DraftedFile[],
  files: FileAccess,
  context: ToolContext,
): Promise<{ readonly failure: string } | { readonly notes: readonly string[] }> {
  const written: DraftedFile[] = [];
  const notes: string[] = [];
  for (const file of drafted) {
    try {
      context.signal.throwIfAborted();
      const { note } = await writeThrough(files, file, context);
      if (note !== undefined) notes.push(`${file.path}: ${note}`);
      written.push(file);
    } catch (error) {
      const left: string[] = [];
      for (const done of written.toReversed()) {
        const problem = await putBack(done, files, context);
        if (problem !== null) left.push(`${done.path} stays changed: ${problem}`);
      }
      const rest = left.length === 0 ? 'Nothing was changed.' : left.join('\n');
      return { failure: `${file.path} could not be written: ${failureLine(error)}\n${rest}` };
    }
  }
  return { notes };
}

/** What was there before, unless somebody changed the file meanwhile. Null when it is there again. */
async function putBack(
  { path, read, bytes }: DraftedFile,
  { guard }: FileAccess,
  context: ToolContext,
): Promise<string | null> {
  const use = useOf(context);
  try {
    const { handle, stat } = await guard.openForReading(path, use);
    const isOurs = await handle
      .readFile()
      .then((now) => now.equals(bytes))
      .finally(() => handle.close());
    if (!isOurs) return 'it was changed by something else meanwhile.';
    if (read === null) await guard.removeFile(path, { ...use, unchangedSince: stat });
    else await putBackText(guard, { path, read, bytes, stat }, context);
    return null;
  } catch (error) {
    return failureLine(error);
  }
}

async function putBackText(
  guard: PathGuard,
  { path, read, bytes, stat }: Pick<DraftedFile, 'path' | 'bytes'> & { readonly read: ShownFile; readonly stat: Stats },
  context: ToolContext,
): Promise<void> {
  const before = {
    ...read,
    stat,
    ...(read.saved === undefined ? {} : { saved: Buffer.from(bytes) }),
    bytes: Buffer.from(bytes),
  };
  await replaceFile(guard, { path, real: read.path, bytes: read.bytes, before, isNewPlace: false }, context);
}

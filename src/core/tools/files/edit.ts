import * as z from 'zod';
import type { Inside } from '../../security/paths/open-inside.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { sha256 } from '../../storage/change-log.ts';
import { AppError } from '../../util/errors.ts';
import { plural } from '../../util/text.ts';
import { errorResult, failureLine } from '../registry/result.ts';
import {
  defineTool,
  showsInGroup,
  type ApprovalRequest,
  type EffectTarget,
  type Executed,
  type Plan,
  type Planned,
  type Tool,
  type ToolContext,
} from '../tool.ts';
import { askToChange, callerOf, fileTarget, openAllowed, type FileAccess } from './access.ts';
import { previewOf } from './change-preview.ts';
import { readOpened, replaceFile, type ShownFile } from './editor-buffer.ts';
import { decodeText, encodeText, type TextFormat } from './file-text.ts';
import { bitsOfFiles } from './taint.ts';
import { editText, fileEditSchema, type TextEdit } from './text-edit.ts';
import { readWhole, writeThrough } from './whole-file.ts';

const MOST_EDITS = 100;
/** How many problems are shown. */
const MOST_SHOWN = 10;

const patchSchema = z.object({
  edits: z
    .array(fileEditSchema)
    .min(1)
    .max(MOST_EDITS)
    .describe(`At most ${MOST_EDITS} replacements, made in order, each on what the earlier ones left.`),
});

interface FileEdit extends TextEdit {
  readonly path: string;
}

/** Creates the tool that makes one replacement. */
export function editFileTool(files: FileAccess): Tool {
  return defineTool({
    name: 'edit_file',
    fits: 'small',
    description:
      'Replace one exact piece of text in a file, or every occurrence of it. Read the file first. For several replacements use apply_patch; for a new file or all new content use write_file.',
    parameters: fileEditSchema,
    // Done twice it would fail, or change a second place: after a crash its outcome counts as unknown.
    effect: 'effect',
    about: (edit, context) => filesOf([edit], context),
    plan: (edit, context) => {
      const { path, oldText, newText } = edit;
      const preview = previewOf(oldText, newText);
      return planEdits(files, [edit], context, {
        preview,
        shown: `${escapeControlChars(path)}\n${preview}`,
        ask: (place) => askToChange(files, place, { after: null, preview: () => preview }),
        fail: ([problem]) => {
          if (problem?.error !== undefined) throw problem.error;
          const { text = '', hint = '' } = problem ?? {};
          return errorResult(`edit ${path}`, `${text.replace(/^this/u, 'This')}${hint}`);
        },
        write: async ([file], running): Promise<Executed> => {
          if (file === undefined) throw new TypeError('an edit without a file');
          const { note } = await writeThrough(files, file.place, file, running);
          const noted = note === undefined ? {} : { note };
          if (file.read === null) {
            return { title: `created ${path}`, output: 'Created.', metadata: { size: file.bytes.length }, ...noted };
          }
          return {
            title: `edited ${path}`,
            output: `Replaced ${plural(file.count, 'occurrence')} at ${file.positions.join('; ')}.`,
            metadata: { occurrences: file.count },
            ...noted,
            diff: preview,
          };
        },
      });
    },
  });
}

/** Creates the tool that makes several replacements as one step. */
export function applyPatchTool(files: FileAccess): Tool {
  return defineTool({
    name: 'apply_patch',
    description:
      'Make several exact text replacements in one or more files as one step: if one cannot be made, no file changes. Read the files first. For a single replacement use edit_file.',
    parameters: patchSchema,
    // Done twice it would fail, or change other places: after a crash its outcome counts as unknown.
    effect: 'effect',
    about: ({ edits }, context) => filesOf(edits, context),
    plan: ({ edits }, context) => {
      const preview = edits
        .map((edit) => `${escapeControlChars(edit.path)}\n${previewOf(edit.oldText, edit.newText)}`)
        .join('\n\n');
      return planEdits(files, edits, context, {
        preview,
        shown: preview,
        ask: async ({ path, asks }) =>
          asks === null
            ? undefined
            : { title: 'Change files', detail: `${escapeControlChars(path)}\n\n${preview}`, reason: asks, path },
        fail: (problems) => {
          const shown = problems.slice(0, MOST_SHOWN).map(({ n, path, text }) => `Edit ${n} (${path}): ${text}`);
          const more = problems.length > MOST_SHOWN ? [`… and ${problems.length - MOST_SHOWN} more.`] : [];
          const output = ['Nothing was changed.', ...shown, ...more].join('\n');
          return errorResult('patch', output, { problems: problems.length });
        },
        write: async (drafted, running) => {
          const written = await writeAll(drafted, files, running);
          if ('failure' in written) return errorResult('patch', written.failure);
          const note = written.notes.join('\n');
          const done = drafted.map(({ path, read, positions }) => {
            return `${path}: ${[...(read === null ? ['new'] : []), ...positions].join('; ')}`;
          });
          return {
            title: `patched ${plural(drafted.length, 'file')}`,
            output: done.join('\n'),
            metadata: { files: drafted.length, edits: edits.length },
            ...(note === '' ? {} : { note }),
            diff: preview,
          };
        },
      });
    },
  });
}

/** What the two tools say differently. */
interface EditWords {
  readonly preview: string;
  /** What a call in a group would show of the files: what does not fit is answered with the lines that stand there. */
  readonly shown: string;
  readonly ask: (place: Inside) => Promise<ApprovalRequest | undefined>;
  readonly fail: (problems: readonly Problem[]) => Executed;
  readonly write: (drafted: readonly DraftedFile[], running: ToolContext) => Promise<Executed>;
}

function filesOf(edits: readonly { readonly path: string }[], context: ToolContext): readonly EffectTarget[] {
  return [...new Set(edits.map(({ path }) => path))].map((path) => fileTarget(path, context));
}

async function planEdits(
  files: FileAccess,
  edits: readonly FileEdit[],
  context: ToolContext,
  words: EditWords,
): Promise<Planned> {
  const places = new Map<string, Inside>();
  const close = async (): Promise<void> => {
    for (const place of places.values()) place[Symbol.dispose]();
  };
  try {
    for (const { path } of edits) {
      if (!places.has(path)) places.set(path, await files.guard.openInside(path, 'write', callerOf(context)));
    }
    // A yes opens one file, so at most one of them may need it.
    const asked = new Map([...places.values()].flatMap((place) => (place.asks === null ? [] : [[place.path, place]])));
    if (asked.size > 1) {
      await close();
      return { denied: `${asked.size} of these files need a yes each; change them in calls of their own.` };
    }
    const draft = await draftEdits(edits, places, context);
    const [first] = asked.values();
    const asks = first === undefined ? await askAboutLoss(files, draft, words) : await words.ask(first);
    const mayAsk = asks !== undefined || context.conversation.taint.untrusted;
    const plan: Plan = {
      asks,
      // What becomes of the files depends on what they hold now.
      ...(mayAsk ? { covers: { contents: draft.read.map(({ path, bytes }) => [path, sha256(bytes)]) } } : {}),
      ...(edits.every(({ oldText }) => oldText === '') ? {} : { reaches: showsInGroup(words.shown) }),
      run: async (signal) => {
        if (draft.problems.length === 0) return await words.write(draft.files, { ...context, signal });
        const { shown } = draft;
        const bits = shown.length === 0 ? {} : await bitsOfFiles(files.origins, { paths: [], shown });
        return { ...words.fail(draft.problems), ...bits };
      },
      close,
    };
    return plan;
  } catch (error) {
    await close();
    return { denied: failureLine(error) };
  }
}

/** Asks about the first file of which the edits would lose too much. */
async function askAboutLoss(
  files: FileAccess,
  { files: drafted, problems }: Draft,
  { preview }: EditWords,
): Promise<ApprovalRequest | undefined> {
  if (files.versioned === undefined || problems.length > 0) return undefined;
  for (const { place, bytes } of drafted) {
    const after = Buffer.from(bytes).toString();
    const asked = await askToChange(files, place, { after, preview: () => preview });
    if (asked !== undefined) return asked;
  }
  return undefined;
}

/** A file as the edits leave it; nothing of that is on the disk yet. */
interface DraftedFile {
  readonly place: Inside;
  /** As it was named first. */
  readonly path: string;
  /** Null: it is new. */
  readonly read: ShownFile | null;
  readonly bytes: Uint8Array;
  /** Replacements. */
  readonly count: number;
  /** `line 3`, `lines 5, 9` for each edit. */
  readonly positions: readonly string[];
}

/** Why an edit cannot be made. */
interface Problem {
  /** From 1. */
  readonly n: number;
  readonly path: string;
  readonly text: string;
  /** What to do instead, for a single edit. */
  readonly hint?: string;
  /** The file could not be read. */
  readonly error?: AppError;
}

interface Draft {
  readonly files: readonly DraftedFile[];
  readonly problems: readonly Problem[];
  /** All files that were read, and those of which a problem repeats something. */
  readonly read: readonly ShownFile[];
  readonly shown: readonly ShownFile[];
}

interface OpenFile extends Omit<DraftedFile, 'bytes'> {
  readonly format: TextFormat;
  text: string;
  count: number;
  readonly positions: string[];
}

/** Makes all edits in memory, in order: a later one finds what an earlier one left. */
async function draftEdits(
  edits: readonly FileEdit[],
  places: ReadonlyMap<string, Inside>,
  context: ToolContext,
): Promise<Draft> {
  const open = new Map<string, OpenFile>();
  const problems: Problem[] = [];
  const shown: ShownFile[] = [];
  for (const [n, edit] of edits.entries()) {
    context.signal.throwIfAborted();
    const { path } = edit;
    const place = places.get(path);
    if (place === undefined) continue;
    const known = open.get(place.path) ?? (await load(edit, place, context));
    const say = (problem: Omit<Problem, 'n' | 'path'>): void => void problems.push({ n: n + 1, path, ...problem });
    if ('problem' in known) {
      say(known.problem);
      continue;
    }
    const isNew = edit.oldText === '';
    if (isNew && open.has(place.path)) {
      say({ text: 'oldText is empty, which is for new files only.' });
      continue;
    }
    open.set(place.path, known);
    if (isNew) continue;
    const edited = editText(known.text, edit);
    if ('problem' in edited) {
      say({ text: edited.problem });
      if (edited.shows && known.read !== null) shown.push(known.read);
      continue;
    }
    known.text = edited.text;
    known.count += edited.count;
    known.positions.push(edited.where);
  }
  const files = [...open.values()].map(({ text, format, ...file }) => ({ ...file, bytes: encodeText(text, format) }));
  return { files, problems, read: files.flatMap(({ read }) => read ?? []), shown };
}

/** The file as it is, or one sentence that says why it cannot be edited. */
async function load(
  { path, oldText, newText }: FileEdit,
  place: Inside,
  context: ToolContext,
): Promise<OpenFile | { readonly problem: Omit<Problem, 'n' | 'path'> }> {
  const file = { place, path, count: 0, positions: [] };
  if (oldText === '') {
    if (place.stat === null) {
      return { ...file, read: null, format: { encoding: 'utf-8', bom: false }, text: newText };
    }
    const text = 'oldText is empty, which is for new files only, and the file exists.';
    return { problem: { text, hint: ' Use write_file to replace it.' } };
  }
  try {
    const read = await readWhole(place, path, context);
    const decoded = decodeText(read.bytes);
    if ('binary' in decoded) return { problem: { text: 'this is a binary file, so it is not edited.' } };
    return { ...file, read, format: decoded.format, text: decoded.text };
  } catch (error) {
    if (error instanceof AppError) return { problem: { text: error.message, error } };
    throw error;
  }
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
      const { note } = await writeThrough(files, file.place, file, context);
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
  try {
    using place = await openAllowed(guard, { path, access: 'write' }, context);
    const now = await readOpened(place);
    if (!now.bytes.equals(bytes)) return 'it was changed by something else meanwhile.';
    if (read === null) await place.remove();
    else {
      const saved = read.saved === undefined ? {} : { saved: now.bytes };
      await replaceFile(guard, place, { path, bytes: read.bytes, before: { ...read, ...now, ...saved } }, context);
    }
    return null;
  } catch (error) {
    return failureLine(error);
  }
}

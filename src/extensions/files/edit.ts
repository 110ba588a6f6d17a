import { AppError, decodeText, encodeText, type Inside, plural, type TextFormat } from '../../core/api-paths.ts';
import {
  askToChange,
  bitsOf,
  defineTool,
  errorResult,
  escapeControlChars,
  type Executed,
  failureLine,
  type FileAccess,
  type FileContent,
  fileTarget,
  openAllowed,
  planInside,
  type Planned,
  previewOf,
  putFile,
  readOpened,
  readWhole,
  sha256,
  showsInGroup,
  type Tool,
  type ToolContext,
  writeThrough,
} from '../../core/api-tools.ts';
import { z } from '../../core/api.ts';
import { editText, fileEditSchema, type FileEdit } from './text-edit.ts';

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

/** Creates the tool that makes one replacement. */
export function editFileTool(files: FileAccess): Tool {
  return defineTool({
    name: 'edit_file',
    fits: 'small',
    isRecorded: true,
    description:
      'Replace one exact piece of text in a file, or every occurrence of it. Read the file first. For several replacements use apply_patch; for a new file or all new content use write_file.',
    parameters: fileEditSchema,
    // Done twice it would fail, or change a second place: after a crash its outcome counts as unknown.
    effect: 'effect',
    about: ({ path }, context) => [fileTarget(path, context)],
    plan: (edit, context) => planEdits(files, [edit], context, ONE_EDIT),
  });
}

/** Creates the tool that makes several replacements as one step. */
export function applyPatchTool(files: FileAccess): Tool {
  return defineTool({
    name: 'apply_patch',
    isRecorded: true,
    description:
      'Make several exact text replacements in one or more files as one step: if one cannot be made, no file changes. Read the files first. For a single replacement use edit_file.',
    parameters: patchSchema,
    // Done twice it would fail, or change other places: after a crash its outcome counts as unknown.
    effect: 'effect',
    about: ({ edits }, context) => [...new Set(edits.map(({ path }) => path))].map((path) => fileTarget(path, context)),
    plan: ({ edits }, context) => planEdits(files, edits, context, PATCH),
  });
}

/** What the two tools say differently. */
interface EditWords {
  readonly title: string;
  /** What people see of the change. */
  readonly preview: (edits: readonly FileEdit[]) => string;
  /** What of it stands in the question, below the path that is asked about. */
  readonly asked: (preview: string) => string;
  readonly impossible: (problems: readonly Problem[]) => Executed;
  /** `left`: which files stay changed though one could not be written. */
  readonly broken: (path: string, error: unknown, left: readonly string[]) => Executed;
  readonly noted: (path: string, note: string) => string;
  readonly done: (files: readonly DraftedFile[], edits: number) => Executed;
}

const ONE_EDIT: EditWords = {
  title: 'Change a file',
  preview: ([edit]) => previewOf(edit?.oldText ?? '', edit?.newText ?? ''),
  asked: (preview) => preview,
  impossible: ([problem]) => {
    if (problem?.error !== undefined) throw problem.error;
    const { path = '', text = '', hint = '' } = problem ?? {};
    return errorResult(`edit ${path}`, `${text.replace(/^this/u, 'This')}${hint}`);
  },
  broken: (_path, error) => {
    throw error;
  },
  noted: (_path, note) => note,
  done: ([file]): Executed => {
    const { path = '', bytes = [], count = 0, positions = [], read = null } = file ?? {};
    const size = bytes.length;
    if (read === null) return { title: `created ${path}`, output: 'Created.', metadata: { size }, diff: undefined };
    const output = `Replaced ${plural(count, 'occurrence')} at ${positions.join('; ')}.`;
    return { title: `edited ${path}`, output, metadata: { occurrences: count } };
  },
};

const PATCH: EditWords = {
  title: 'Change files',
  preview: (edits) => edits.map((edit) => `${escapeControlChars(edit.path)}\n${ONE_EDIT.preview([edit])}`).join('\n\n'),
  asked: (preview) => `\n${preview}`,
  impossible: (problems) => {
    const shown = problems.slice(0, MOST_SHOWN).map(({ n, path, text }) => `Edit ${n} (${path}): ${text}`);
    const more = problems.length > MOST_SHOWN ? [`… and ${problems.length - MOST_SHOWN} more.`] : [];
    return errorResult('patch', ['Nothing was changed.', ...shown, ...more].join('\n'), { problems: problems.length });
  },
  broken: (path, error, left) => {
    const rest = left.length === 0 ? ['Nothing was changed.'] : left;
    return errorResult('patch', [`${path} could not be written: ${failureLine(error)}`, ...rest].join('\n'));
  },
  noted: (path, note) => `${path}: ${note}`,
  done: (files, edits) => ({
    title: `patched ${plural(files.length, 'file')}`,
    output: files
      .map(({ path, read, positions }) => `${path}: ${[...(read === null ? ['new'] : []), ...positions].join('; ')}`)
      .join('\n'),
    metadata: { files: files.length, edits },
  }),
};

/**
 * Plans edits of one or more files. What becomes of the files is worked out here only where a person may be asked about
 * it; otherwise when the call runs and holds a slot.
 */
async function planEdits(
  files: FileAccess,
  edits: readonly FileEdit[],
  context: ToolContext,
  words: EditWords,
): Promise<Planned> {
  const [path = '', ...more] = edits.map((edit) => edit.path);
  return await planInside(files.guard, { path, more, access: 'write' }, context, async (_first, places) => {
    const all = [...new Map(Array.from(places.values(), (place) => [place.path, place])).values()];
    // A yes opens one file, so at most one of them may need it.
    const asked = all.filter(({ asks }) => asks !== null);
    if (asked.length > 1) {
      return { denied: `${asked.length} of these files need a yes each; change them in calls of their own.` };
    }
    const preview = words.preview(edits);
    const { untrusted } = context.conversation.taint;
    let mayAsk = untrusted || asked.length > 0;
    for (const place of all) mayAsk ||= (await files.versioned?.(place.path))?.losesTooMuch !== undefined;
    const draft = mayAsk ? await draftEdits(edits, places, context) : null;
    const ask = (place: Inside, after: string | null) =>
      askToChange(files, place, { title: words.title, after, preview: () => words.asked(preview) });
    const [first] = asked;
    const losing = first === undefined && draft?.problems.length === 0 ? draft.files : [];
    let asks = first === undefined ? undefined : await ask(first, null);
    for (const { place, bytes } of losing) asks ??= await ask(place, Buffer.from(bytes).toString());
    // What becomes of the files depends on what they hold now.
    const contents = draft?.read.map((file) => [file.path, sha256(file.bytes)]);
    return {
      asks,
      ...(asks !== undefined || untrusted ? { covers: { contents } } : {}),
      ...(edits.every(({ oldText }) => oldText === '') ? {} : { reaches: showsInGroup(PATCH.preview(edits)) }),
      run: async (signal) => {
        const running = { ...context, signal };
        const { problems, files: drafted, shown } = draft ?? (await draftEdits(edits, places, running));
        if (problems.length === 0) return await writeAll(drafted, files, { words, edits, preview }, running);
        const bits =
          shown.length === 0
            ? {}
            : await bitsOf(
                files.marks,
                shown.map(({ path }) => path),
                context.person.role,
              );
        return { ...words.impossible(problems), ...bits };
      },
    };
  });
}

/** A file as the edits leave it; nothing of that is on the disk yet. */
interface DraftedFile {
  readonly place: Inside;
  /** As it was named first. */
  readonly path: string;
  /** Null: it is new. */
  readonly read: FileContent | null;
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
  readonly read: readonly FileContent[];
  readonly shown: readonly FileContent[];
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
  const shown: FileContent[] = [];
  for (const [i, edit] of edits.entries()) {
    context.signal.throwIfAborted();
    const { path } = edit;
    const place = places.get(path);
    if (place === undefined) continue;
    const isNew = edit.oldText === '';
    const known = open.get(place.path);
    const file = known ?? (await load(edit, place, context));
    const say = (problem: Omit<Problem, 'n' | 'path'>): void => void problems.push({ n: i + 1, path, ...problem });
    if ('problem' in file) {
      say(file.problem);
      continue;
    }
    open.set(place.path, file);
    if (isNew && known !== undefined) say({ text: 'oldText is empty, which is for new files only.' });
    if (isNew) continue;
    const edited = editText(file.text, edit);
    if ('problem' in edited) {
      say({ text: edited.problem });
      if (edited.shows && file.read !== null) shown.push(file.read);
      continue;
    }
    file.text = edited.text;
    file.count += edited.count;
    file.positions.push(edited.where);
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
  if (oldText === '' && place.stat === null) {
    return { ...file, read: null, format: { encoding: 'utf-8', bom: false }, text: newText };
  }
  if (oldText === '') {
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

interface Edits {
  readonly words: EditWords;
  readonly edits: readonly FileEdit[];
  readonly preview: string;
}

/** Writes one after the other; when one fails, those before it are put back. */
async function writeAll(
  drafted: readonly DraftedFile[],
  files: FileAccess,
  { words, edits, preview }: Edits,
  context: ToolContext,
): Promise<Executed> {
  const notes: string[] = [];
  for (const [n, file] of drafted.entries()) {
    try {
      context.signal.throwIfAborted();
      const { note } = await writeThrough(files, file.place, file, context);
      if (note !== undefined) notes.push(words.noted(file.path, note));
    } catch (error) {
      const left: string[] = [];
      for (const done of drafted.slice(0, n).toReversed()) {
        const problem = await putBack(done, files, context);
        if (problem !== null) left.push(`${done.path} stays changed: ${problem}`);
      }
      return words.broken(file.path, error, left);
    }
  }
  const note = notes.length === 0 ? {} : { note: notes.join('\n') };
  return { diff: preview, ...words.done(drafted, edits.length), ...note };
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
      await putFile(place, { path, bytes: read.bytes, before: { ...now, ...saved } }, context);
    }
    return null;
  } catch (error) {
    return failureLine(error);
  }
}

import { AppError } from '../../util/errors.ts';
import { decideLoss, useOf, versionedAt, type FileAccess } from './access.ts';
import type { ShownFile } from './editor-buffer.ts';
import { decodeText, encodeText, type TextFormat } from './file-text.ts';
import type { ToolContext, ToolDecision } from '../tool.ts';
import { editText, type TextEdit } from './text-edit.ts';
import { readWhole } from './whole-file.ts';

export interface FileEdit extends TextEdit {
  readonly path: string;
}

/** A file as the edits leave it; nothing of that is on the disk yet. */
export interface DraftedFile {
  /** As it was named first. */
  readonly path: string;
  /** Null: it is new. */
  readonly read: ShownFile | null;
  readonly bytes: Uint8Array;
  /** `2 edits at line 3; lines 5, 9`. */
  readonly done: string;
}

export type PatchDraft =
  | { readonly files: readonly DraftedFile[] }
  | {
      /** A sentence for each edit that cannot be made. */
      readonly problems: readonly string[];
      /** The files of which a problem repeats something. */
      readonly shown: readonly ShownFile[];
    };

interface OpenFile {
  readonly path: string;
  readonly read: ShownFile | null;
  readonly format: TextFormat;
  text: string;
  readonly positions: string[];
}

/** Makes all edits in memory, in order: a later one finds what an earlier one left. */
export async function draftPatch(
  edits: readonly FileEdit[],
  { guard }: Pick<FileAccess, 'guard'>,
  context: ToolContext,
): Promise<PatchDraft> {
  const open = new Map<string, OpenFile>();
  const problems: string[] = [];
  const shown: ShownFile[] = [];
  for (const [n, edit] of edits.entries()) {
    context.signal.throwIfAborted();
    const say = (problem: string): void => void problems.push(`Edit ${n + 1} (${edit.path}): ${problem}`);
    const place = await guard.check(edit.path, 'write', useOf(context));
    if (place.decision === 'deny') {
      say(place.reason);
      continue;
    }
    const known = open.get(place.path) ?? (await load(edit, { guard }, context));
    if (typeof known === 'string') {
      say(known);
      continue;
    }
    const isNew = edit.oldText === '';
    if (isNew && open.has(place.path)) {
      say('oldText is empty, which is for new files only.');
      continue;
    }
    open.set(place.path, known);
    if (isNew) continue;
    const edited = editText(known.text, edit);
    if ('problem' in edited) {
      say(edited.problem);
      if (edited.shows && known.read !== null) shown.push(known.read);
      continue;
    }
    known.text = edited.text;
    known.positions.push(edited.where);
  }
  if (problems.length > 0) return { problems, shown };
  return { files: [...open.values()].map(drafted) };
}

/** Asks about the first file of which the edits would lose too much. What can't be edited is left to the run. */
export async function decideLosses(
  edits: readonly FileEdit[],
  files: FileAccess,
  { context, preview }: { readonly context: ToolContext; readonly preview: () => string },
): Promise<ToolDecision> {
  const allow = { decision: 'allow' } as const;
  const versioned = await Promise.all(edits.map(async ({ path }) => await versionedAt(files, path, context)));
  if (versioned.every((file) => file === undefined)) return allow;
  const draft = await draftPatch(edits, files, context).catch(() => null);
  if (draft === null || 'problems' in draft) return allow;
  for (const { path, bytes } of draft.files) {
    const asked = await decideLoss(files, { path, after: Buffer.from(bytes).toString(), preview }, context);
    if (asked !== null) return asked;
  }
  return allow;
}

function drafted({ path, read, format, text, positions }: OpenFile): DraftedFile {
  return {
    path,
    read,
    bytes: encodeText(text, format),
    done: [...(read === null ? ['new'] : []), ...positions].join('; '),
  };
}

/** The file as it is, or one sentence that says why it cannot be edited. */
async function load(
  { path, oldText, newText }: FileEdit,
  { guard }: Pick<FileAccess, 'guard'>,
  context: ToolContext,
): Promise<OpenFile | string> {
  const read = await readWhole(guard, path, context).catch((error: unknown) => {
    if (error instanceof AppError) return error;
    throw error;
  });
  if (oldText === '') {
    if (!(read instanceof AppError)) return 'oldText is empty, which is for new files only, and the file exists.';
    if (read.facts['code'] !== 'ENOENT') return read.message;
    return { path, read: null, format: { encoding: 'utf-8', bom: false }, text: newText, positions: [] };
  }
  if (read instanceof AppError) return read.message;
  const decoded = decodeText(read.bytes);
  if ('binary' in decoded) return 'this is a binary file, so it is not edited.';
  return { path, read, format: decoded.format, text: decoded.text, positions: [] };
}

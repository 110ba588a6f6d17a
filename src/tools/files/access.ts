import { lstat } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import type { PathAccess, PathDecision } from '../../security/paths/rules.ts';
import type { OpenedFile, PathGuard, PathUse } from '../../security/paths/guard.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { LARGEST_COPY, type ChangeLog } from '../../storage/change-log.ts';
import { ifThere } from '../../storage/files.ts';
import { AppError } from '../../util/errors.ts';
import type { FileOrigins } from './taint.ts';
import type { EffectTarget, ToolContext, ToolDecision } from '../tool.ts';

/** Larger files are not read whole; of all that are a copy can be kept. */
const MOST_BYTES = LARGEST_COPY;

/** Where what a tool is about to replace is written down, durably, before it is replaced. */
export type ChangeRecorder = Pick<ChangeLog, 'recordChange'>;

/** What a tool that changes files is given. */
export interface FileAccess {
  readonly guard: PathGuard;
  readonly changes: ChangeRecorder;
  /** Remembers what strangers had a part in. @default it is forgotten */
  readonly origins?: FileOrigins | undefined;
}

/** The tools that change files, all through `writeThrough`: what they did can be undone. */
export const FILE_TOOLS: ReadonlySet<string> = new Set(['write_file', 'edit_file', 'apply_patch']);

/** On whose behalf a tool touches a path; an approval covers exactly the path that was shown. */
export function useOf({ person, conversation, files, approval }: ToolContext): PathUse {
  return {
    role: person.role,
    chatType: person.chatType,
    taint: conversation.taint,
    readRoots: files.readRoots,
    roots: files.roots ?? [],
    ...(approval === null ? {} : { approved: (path: string) => path === approval.covers }),
  };
}

/** The path guard's decision as a tool's. `preview`: what a person is shown of a change beside its path. */
export async function decidePathUse(
  guard: PathGuard,
  path: string,
  access: PathAccess,
  context: ToolContext,
  preview?: () => string | Promise<string>,
): Promise<ToolDecision> {
  const decision: PathDecision = await guard.check(path, access, useOf(context));
  switch (decision.decision) {
    case 'allow':
      return { decision: 'allow' };
    case 'deny':
      return decision;
    case 'ask': {
      const { reason, path: real } = decision;
      const title = access === 'read' ? 'Read a file' : 'Change a file';
      const detail =
        preview === undefined ? escapeControlChars(real) : `${escapeControlChars(real)}\n${await preview()}`;
      return { decision: 'ask', reason, request: { title, detail, reason, path: real } };
    }
  }
}

/** Opens a file and hands it to `use`; closes it afterwards. Throws a sentence for files over 50 MB. */
export async function withFile<T>(
  { guard, path, context }: { readonly guard: PathGuard; readonly path: string; readonly context: ToolContext },
  use: (file: OpenedFile) => Promise<T>,
): Promise<T> {
  const file = await guard.openForReading(path, useOf(context));
  try {
    const { size } = file.stat;
    if (size > MOST_BYTES) {
      throw new AppError(
        'file-too-large',
        `${path} has ${size} bytes; files over 50 MB are not read. Use exec with head, tail or grep.`,
      );
    }
    return await use(file);
  } finally {
    await file.handle.close();
  }
}

/** The whole file. Throws a sentence for files over 50 MB. */
export async function readWhole(
  guard: PathGuard,
  path: string,
  context: ToolContext,
): Promise<Omit<OpenedFile, 'handle'> & { readonly bytes: Buffer }> {
  return await withFile({ guard, path, context }, async ({ handle, path: real, stat }) => {
    return { path: real, stat, bytes: await handle.readFile() };
  });
}

/** A file as `readWhole` found it. */
export type WholeFile = Awaited<ReturnType<typeof readWhole>>;

/** The file of a path as a receipt names it: from the workspace on where it lies in it. */
export function fileTarget(path: string, { files: { workingDirectory } }: ToolContext): EffectTarget {
  const whole = resolve(workingDirectory, path);
  const inside = relative(workingDirectory, whole);
  return { kind: 'file', target: inside === '' || inside.startsWith('..') ? whole : inside };
}

interface FileWrite {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** What it was made from; null: there was no file. @default what is there does not matter */
  readonly read?: WholeFile | null;
}

/**
 * The one way for a tool to create or replace a file: what is there is kept for /undo first; when it cannot be kept,
 * nothing is written. Refuses when the file changed since `read`, or while it was being kept. What is written while
 * strangers' text is in the conversation, or made from what they had a part in, is marked as theirs too.
 */
export async function writeThrough(
  { guard, changes, origins }: FileAccess,
  { path, bytes, read: known }: FileWrite,
  context: ToolContext,
): ReturnType<PathGuard['writeFile']> {
  const place = await guard.check(path, 'write', useOf(context));
  if (place.decision === 'deny') throw new AppError('path-refused', place.reason);
  const read = known ?? undefined;
  const before = known === undefined ? await readBefore(guard, path, context) : known;
  const { sessionKey, turnId, id: callId } = context.call;
  await changes.recordChange({
    sessionKey,
    turnId,
    callId,
    path: before?.path ?? place.path,
    folders: before === null ? await missingFolders(place.path) : [],
    before: before === null ? null : { bytes: before.bytes, mode: before.stat.mode & 0o777 },
    after: bytes,
  });
  if (context.conversation.taint.untrusted || (read !== undefined && (await origins?.holds(read)) === true)) {
    await origins?.mark(path, bytes);
  }
  return await guard.writeFile(path, bytes, { ...useOf(context), unchangedSince: before?.stat ?? null });
}

/** The folders of a path that there are not yet, the innermost first. */
async function missingFolders(path: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (let folder = dirname(path); (await ifThere(lstat(folder))) === undefined; folder = dirname(folder)) {
    missing.push(folder);
  }
  return missing;
}

/** What a write replaces; null: nothing. A file too large for a copy comes without its bytes. */
async function readBefore(
  guard: PathGuard,
  path: string,
  context: ToolContext,
): Promise<(Omit<WholeFile, 'bytes'> & { readonly bytes: Buffer | null }) | null> {
  try {
    const { handle, path: real, stat } = await guard.openForReading(path, useOf(context));
    try {
      return { path: real, stat, bytes: stat.size > LARGEST_COPY ? null : await handle.readFile() };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof AppError && error.facts['code'] === 'ENOENT') return null;
    throw error;
  }
}

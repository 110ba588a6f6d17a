import { basename, relative, resolve } from 'node:path';
import type { PathAccess, PathDecision } from '../../security/paths/rules.ts';
import type { PathGuard, PathUse } from '../../security/paths/guard.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import type { ChangeLog } from '../../storage/change-log.ts';
import type { FileOrigins } from './taint.ts';
import type { EffectTarget, ToolContext, ToolDecision } from '../tool.ts';

/** Where what a tool is about to replace is written down, durably, before it is replaced. */
export type ChangeRecorder = Pick<ChangeLog, 'recordChange'>;

/** A file whose earlier texts are kept for the owner, such as MEMORY.md. */
export interface VersionedFile {
  /** Keeps the present text. */
  readonly keepPresent: (reason: string) => Promise<void>;
  /** True for a change that loses so much that the owner is asked. @default never */
  readonly losesTooMuch?: (after: string) => Promise<boolean>;
}

/** What a tool that changes files is given. */
export interface FileAccess {
  /** The versioned file at a path; undefined for any other. @default no file has versions */
  readonly versioned?: (path: string) => Promise<VersionedFile | undefined>;
  readonly guard: PathGuard;
  readonly changes: ChangeRecorder;
  /** Remembers what strangers had a part in. @default it is forgotten */
  readonly origins?: FileOrigins;
}

/** The tools that change files, all through `writeThrough`: what they did can be undone. */
export const FILE_TOOLS: ReadonlySet<string> = new Set(['write_file', 'edit_file', 'apply_patch']);

/** On whose behalf a tool touches a path; an approval covers exactly the path that was shown. */
export function useOf({ person, conversation, files, approval }: ToolContext): PathUse {
  return {
    role: person.role,
    chatType: person.chatType,
    who: person.who,
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

/** The versioned file that a tool would write at this path; undefined for any other and for what may not be written. */
export async function versionedAt(
  { guard, versioned }: FileAccess,
  path: string,
  context: ToolContext,
): Promise<VersionedFile | undefined> {
  if (versioned === undefined) return undefined;
  const place = await guard.check(path, 'write', useOf(context));
  return place.decision === 'deny' ? undefined : await versioned(place.path);
}

/** Asks about a change that loses too much of a versioned file; else null. `after`: the new text. */
export async function decideLoss(
  { guard, versioned }: FileAccess,
  {
    path,
    after,
    preview,
  }: { readonly path: string; readonly after: string; readonly preview: () => string | Promise<string> },
  context: ToolContext,
): Promise<ToolDecision | null> {
  const place = await guard.check(path, 'write', useOf(context));
  if (place.decision === 'deny') return place;
  const real = place.path;
  const file = await versioned?.(real);
  if ((await file?.losesTooMuch?.(after)) !== true) return null;
  const reason = `less than half of ${basename(real)} would be left`;
  const detail = `${escapeControlChars(real)}\n${await preview()}`;
  return { decision: 'ask', reason, request: { title: 'Change a file', detail, reason, path: real } };
}

/** The file of a path as a receipt names it: from the workspace on where it lies in it. */
export function fileTarget(path: string, { files: { workingDirectory } }: ToolContext): EffectTarget {
  const whole = resolve(workingDirectory, path);
  const inside = relative(workingDirectory, whole);
  return { kind: 'file', target: inside === '' || inside.startsWith('..') ? whole : inside };
}

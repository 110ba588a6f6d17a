import { basename, relative, resolve } from 'node:path';
import type { Inside, PathGuard } from '../../security/paths/open-inside.ts';
import { refused } from '../../security/paths/pinned.ts';
import type { PathAccess, PathCaller } from '../../security/paths/rules.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import type { ChangeLog } from '../../storage/change-log.ts';
import { failureLine } from '../registry/result.ts';
import type { ApprovalRequest, EffectTarget, Plan, Planned, ToolContext } from '../tool.ts';
import type { FileOrigins } from './taint.ts';

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
  /** Where what is about to be replaced is written down, durably, before it is replaced. */
  readonly changes: Pick<ChangeLog, 'recordChange'>;
  /** Remembers what strangers had a part in. @default it is forgotten */
  readonly origins?: FileOrigins;
}

/** The tools that change files, all through `writeThrough`: what they did can be undone. */
export const FILE_TOOLS: ReadonlySet<string> = new Set(['write_file', 'edit_file', 'apply_patch']);

/** On whose behalf a tool opens a path. */
export function callerOf({ person, conversation, files }: ToolContext): PathCaller {
  const { role, chatType, who } = person;
  return {
    role,
    chatType,
    who,
    taint: conversation.taint,
    readRoots: files.readRoots,
    roots: files.roots ?? [],
  };
}

/** Opens a path for a call that is already allowed; a yes covers exactly the path that was shown. Throws a sentence. */
export async function openAllowed(
  guard: PathGuard,
  { path, access }: { readonly path: string; readonly access: PathAccess },
  context: ToolContext,
): Promise<Inside> {
  const place = await guard.openInside(path, access, callerOf(context));
  if (place.asks === null || context.approval?.covers === place.path) return place;
  place[Symbol.dispose]();
  throw refused(`This needs a yes from the owner: ${place.asks}.`);
}

/** The plan of a call about one path. What was opened is held until the call is over. */
export async function planInside(
  guard: PathGuard,
  { path, access }: { readonly path: string; readonly access: PathAccess },
  context: ToolContext,
  planFor: (place: Inside) => Plan | Promise<Plan>,
): Promise<Planned> {
  let place: Inside | undefined;
  try {
    place = await guard.openInside(path, access, callerOf(context));
    return { ...(await planFor(place)), close: async () => place?.[Symbol.dispose]() };
  } catch (error) {
    place?.[Symbol.dispose]();
    return { denied: failureLine(error) };
  }
}

/** The question whether a path may be read; undefined: nobody is asked. */
export function askToRead({ asks, path }: Inside): ApprovalRequest | undefined {
  if (asks === null) return undefined;
  return { title: 'Read a file', detail: escapeControlChars(path), reason: asks, path };
}

/**
 * The question about a change, also about one that loses too much of a versioned file; undefined: nobody is asked. `after`:
 * the new text, null: there will be none. `preview`: what is shown of the change.
 */
export async function askToChange(
  { versioned }: FileAccess,
  { asks, path }: Inside,
  change: { readonly after: string | null; readonly preview: () => string | Promise<string> },
): Promise<ApprovalRequest | undefined> {
  const file = asks === null ? await versioned?.(path) : undefined;
  const isLoss = change.after !== null && (await file?.losesTooMuch?.(change.after)) === true;
  const reason = isLoss ? `less than half of ${basename(path)} would be left` : asks;
  if (reason === null) return undefined;
  const detail = `${escapeControlChars(path)}\n${await change.preview()}`;
  return { title: 'Change a file', detail, reason, path };
}

/** The file of a path as a receipt names it: from the workspace on where it lies in it. */
export function fileTarget(path: string, { files: { workingDirectory } }: ToolContext): EffectTarget {
  const whole = resolve(workingDirectory, path);
  const inside = relative(workingDirectory, whole);
  return { kind: 'file', target: inside === '' || inside.startsWith('..') ? whole : inside };
}

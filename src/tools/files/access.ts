import { relative, resolve } from 'node:path';
import type { PathAccess, PathDecision } from '../../security/paths/rules.ts';
import type { PathGuard, PathUse } from '../../security/paths/guard.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import type { ChangeLog } from '../../storage/change-log.ts';
import type { FileOrigins } from './taint.ts';
import type { EffectTarget, ToolContext, ToolDecision } from '../tool.ts';

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

/** The file of a path as a receipt names it: from the workspace on where it lies in it. */
export function fileTarget(path: string, { files: { workingDirectory } }: ToolContext): EffectTarget {
  const whole = resolve(workingDirectory, path);
  const inside = relative(workingDirectory, whole);
  return { kind: 'file', target: inside === '' || inside.startsWith('..') ? whole : inside };
}

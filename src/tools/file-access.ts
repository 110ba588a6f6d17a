import type { PathAccess, PathDecision } from '../security/path-rules.ts';
import type { OpenedFile, PathGuard, PathUse } from '../security/paths.ts';
import { AppError } from '../util/errors.ts';
import type { ToolContext, ToolDecision } from './tool.ts';

/** Larger files are not read whole. */
const MOST_BYTES = 50 * 1024 * 1024;

/** On whose behalf a tool touches a path; an approval covers exactly the path that was shown. */
export function useOf({ role, taint, approved, readRoots }: ToolContext): PathUse {
  return {
    role,
    taint,
    ...(readRoots === undefined ? {} : { readRoots }),
    ...(approved === undefined ? {} : { approved: (path: string) => path === approved }),
  };
}

/** The path guard's decision as a tool's. */
export async function decidePathUse(
  guard: PathGuard,
  path: string,
  access: PathAccess,
  context: ToolContext,
): Promise<ToolDecision> {
  const decision: PathDecision = await guard.check(path, access, context);
  switch (decision.decision) {
    case 'allow':
      return { decision: 'allow' };
    case 'deny':
      return decision;
    case 'ask': {
      const { reason } = decision;
      const title = access === 'read' ? 'Read a file' : 'Change a file';
      return { decision: 'ask', reason, request: { title, detail: decision.path, reason } };
    }
  }
}

/** The whole file. Throws a sentence for files over 50 MB. */
export async function readWhole(
  guard: PathGuard,
  path: string,
  context: ToolContext,
): Promise<Omit<OpenedFile, 'handle'> & { readonly bytes: Buffer }> {
  const { handle, path: real, stat } = await guard.openForReading(path, useOf(context));
  try {
    if (stat.size > MOST_BYTES) {
      throw new AppError(
        'file-too-large',
        `${path} has ${stat.size} bytes; files over 50 MB are not read. Use exec with head, tail or grep.`,
      );
    }
    return { path: real, stat, bytes: await handle.readFile() };
  } finally {
    await handle.close();
  }
}

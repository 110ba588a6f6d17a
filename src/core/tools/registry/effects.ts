import { createHash } from 'node:crypto';
import { cut } from '../../util/text.ts';
import { NO_TARGETS, type Effect, type Tool, type ToolContext, type ToolResult } from '../tool.ts';
import { parseArguments } from './arguments.ts';

/** Characters of a target on the tape, such as a script in a command line. */
const LONGEST = 400;

/** A tool, its raw arguments and where it was called. */
export interface EndedCall {
  /** Undefined: there is none of that name. */
  readonly tool: Tool | undefined;
  readonly arguments: string;
  readonly context: ToolContext;
}

/** What became of a call: the part of an `Effect` that its result tells. */
export type Became = Pick<Effect, 'outcome' | 'exitCode' | 'missing'>;

/** Exit codes of shells for a program that there is not, or that is none. */
const NO_PROGRAM: ReadonlySet<unknown> = new Set([126, 127]);

export function becameOf({ isError, refused, doubtful, missing, metadata: { exitCode } }: ToolResult): Became {
  const code = typeof exitCode === 'number' ? { exitCode } : {};
  if (refused === true) return { outcome: 'refused' };
  if (isError !== true) return { outcome: 'done', ...code };
  if (doubtful === true) return { outcome: 'unknown' };
  return { outcome: 'failed', ...code, ...(missing === true || NO_PROGRAM.has(exitCode) ? { missing: true } : {}) };
}

/** What a call that ended so changed or meant to change; nothing for a tool without effects. Never throws. */
export function effectsOf({ tool, arguments: given, context }: EndedCall, became: Became): readonly Effect[] {
  if (tool === undefined || tool.effect === 'none' || tool.targets === NO_TARGETS) return [];
  const targets = targetsOf(tool, given, context);
  const { exitCode: _, ...other } = became;
  if (targets === null) return [{ tool: tool.name, ...other, kind: 'call', target: null }];
  return targets.map((target) => ({
    tool: tool.name,
    ...(target.kind === 'command' ? became : other),
    ...target,
    target: shortened(target.target),
  }));
}

/** A long target by its beginning and its hash, so that two are equal only where the whole is. */
function shortened(target: string): string {
  if (target.length <= LONGEST) return target;
  return `${cut(target, LONGEST)}… (${createHash('sha256').update(target).digest('hex').slice(0, 8)})`;
}

/** Null: the tool does not say, or not of these arguments. */
function targetsOf(tool: Tool, given: string, context: ToolContext): ReturnType<NonNullable<Tool['targets']>> | null {
  try {
    const parsed = parseArguments(tool.parameters, given);
    return parsed.ok ? (tool.targets?.(parsed.params, context) ?? null) : null;
  } catch {
    return null;
  }
}

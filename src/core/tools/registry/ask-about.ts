import { approvalHash } from '../../security/access/approval-hash.ts';
import { raceAbort } from '../../util/clock.ts';
import { failureLine } from './result.ts';
import type { ApprovalAnswer, ApprovalRequest, Tool, ToolContext } from '../tool.ts';

interface CheckedCall {
  readonly tool: Tool;
  readonly params: Record<string, unknown>;
}

/** The tool result when the action changed after it was approved. */
export const CHANGED =
  'Not done: the action, or a file that it names, changed after it was approved. Call the tool again to have it approved as it is now.';

const UNKNOWN: ApprovalAnswer = { approved: false, reason: 'it cannot be determined what an approval would allow' };

/**
 * Asks a person about a call. A yes returns the context in which the call must run, with a check whether the action is still
 * the approved one. A stop, or an error while asking, counts as a no.
 */
export async function askAbout(
  call: CheckedCall,
  request: ApprovalRequest,
  context: ToolContext,
): Promise<{ readonly allowed: ToolContext; readonly by: string } | Extract<ApprovalAnswer, { approved: false }>> {
  const hash = await boundHash(call, context);
  const answer = hash === null ? UNKNOWN : await ask({ ...request, hash }, context);
  if (!answer.approved) return answer;
  const changed = async (): Promise<boolean> => (await boundHash(call, context)) !== hash;
  const approval = { covers: request.path ?? request.detail, changed };
  return { allowed: { ...context, approval }, by: answer.by ?? 'somebody' };
}

async function ask(request: ApprovalRequest, context: ToolContext): Promise<ApprovalAnswer> {
  try {
    return await raceAbort(context.people.approve(request), context.signal);
  } catch (error) {
    return { approved: false, reason: context.signal.aborted ? 'the turn was stopped' : failureLine(error) };
  }
}

/** Hash of everything that a yes allows; null when it cannot be determined. */
async function boundHash({ tool, params }: CheckedCall, context: ToolContext): Promise<string | null> {
  try {
    const { workingDirectory } = context.files;
    return approvalHash({ tool: tool.name, params, workingDirectory, binds: await tool.binds?.(params, context) });
  } catch {
    return null;
  }
}

import { approvalHash } from '../../security/access/approval-hash.ts';
import { raceAbort } from '../../util/clock.ts';
import { failureLine } from './result.ts';
import type { ApprovalAnswer, ApprovalRequest, Tool, ToolContext } from '../tool.ts';

interface CheckedCall {
  readonly tool: Tool;
  readonly params: Record<string, unknown>;
}

/** What the model reads when the yes it got was for something else. */
export const CHANGED =
  'Not done: the action, or a file that it names, changed after it was approved. Call the tool again to have it approved as it is now.';

const UNKNOWN: ApprovalAnswer = { approved: false, reason: 'it cannot be determined what an approval would allow' };

/**
 * Asks a person about a call. With a yes comes the context that it runs in: what was allowed, and a look at whether it is
 * still the same. Being stopped and failing to ask are a no.
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
  return { allowed: { ...context, approved: request.path ?? request.detail, changed }, by: answer.by ?? 'somebody' };
}

async function ask(request: ApprovalRequest, context: ToolContext): Promise<ApprovalAnswer> {
  try {
    return await raceAbort(context.approve(request), context.signal);
  } catch (error) {
    return { approved: false, reason: context.signal.aborted ? 'the turn was stopped' : failureLine(error) };
  }
}

/** Of what a yes covers; null when it cannot be told. */
async function boundHash({ tool, params }: CheckedCall, context: ToolContext): Promise<string | null> {
  try {
    const { workingDirectory } = context;
    return approvalHash({ tool: tool.name, params, workingDirectory, binds: await tool.binds?.(params, context) });
  } catch {
    return null;
  }
}

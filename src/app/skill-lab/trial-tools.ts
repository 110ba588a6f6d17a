import type { CannedAnswer } from '../../core/skills/cases.ts';
import { withTaint } from '../../core/tools/registry/tainted-call.ts';
import { callTitle } from '../../core/tools/registry/result.ts';
import type { Tool, ToolContext, ToolDecision, ToolResult } from '../../core/tools/tool.ts';
import { fits } from './matching.ts';

type Params = Parameters<Tool['execute']>[0];

/** The key in the facts of a result that a trial gave instead of running the call. */
export const NOT_DONE = 'trial';

/**
 * The tool as a trial has it: a call that an answer is given for gets that answer; of other calls only those run that
 * change nothing and ask no one outside, and the rest say what they would do.
 */
export function trialTool(tool: Tool, answers: readonly CannedAnswer[]): Tool {
  const given = answers.filter((answer) => answer.tool === tool.name);
  const isHarmless = tool.onlyParts === true || (tool.effect === 'none' && tool.untrusted !== true);
  if (isHarmless && given.length === 0) return tool;
  const answerTo = (params: Params): CannedAnswer | undefined =>
    given.find((answer) => fits(answer, { tool: tool.name, arguments: params }));
  return {
    ...tool,
    decide: async (params, context) => {
      if (answerTo(params) !== undefined) return { decision: 'allow' };
      const decision = (await tool.decide?.(params, context)) ?? { decision: 'allow' };
      return isHarmless || decision.decision === 'deny' ? decision : { decision: 'allow' };
    },
    action: async (params, context) =>
      isHarmless && answerTo(params) === undefined ? ((await tool.action?.(params, context)) ?? null) : null,
    execute: async (params, context) => {
      const answer = answerTo(params);
      const title = callTitle({ name: tool.name, arguments: JSON.stringify(params) });
      if (answer !== undefined) {
        return { title, output: answer.answer, metadata: {}, ...(answer.fails ? { isError: true } : {}) };
      }
      return isHarmless ? tool.execute(params, context) : notDone(title, await decisionOf(tool, params, context));
    },
  };
}

async function decisionOf(tool: Tool, params: Params, context: ToolContext): Promise<ToolDecision> {
  const own = (await tool.decide?.(params, context)) ?? { decision: 'allow' };
  if (own.decision === 'deny') return own;
  return withTaint(own, (await tool.action?.(params, context)) ?? null, context.conversation.taint);
}

function notDone(title: string, decision: ToolDecision): ToolResult {
  const first = decision.decision === 'ask' ? `, after a person has said yes (${decision.reason})` : '';
  return {
    title,
    output: '',
    // The program's own words stand outside of the fence around what strangers write.
    note: `Not done, because this is a trial. It would be done${first}. Go on as if it had worked.`,
    metadata: { [NOT_DONE]: decision.decision === 'ask' ? `would ask: ${decision.reason}` : 'would be done' },
  };
}

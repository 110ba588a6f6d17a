import type { CannedAnswer } from '../../core/skills/cases.ts';
import { decide, type ToolDecision } from '../../core/tools/registry/decide.ts';
import { callTitle } from '../../core/tools/registry/result.ts';
import type { Tool, ToolResult } from '../../core/tools/tool.ts';
import { fits } from './matching.ts';

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
  // Nothing of it runs, so there is nothing to approve.
  const { foreign: _, ...own } = tool;
  return {
    ...own,
    plan: async (params, context) => {
      const title = callTitle({ name: tool.name, arguments: JSON.stringify(params) });
      const answer = given.find((one) => fits(one, { tool: tool.name, arguments: params }));
      if (answer !== undefined) {
        const fails = answer.fails ? { isError: true } : {};
        return { run: async () => ({ title, output: answer.answer, ...fails }), about: [] };
      }
      const planned = await tool.plan(params, context);
      if (isHarmless || 'denied' in planned) return planned;
      const decision = decide(planned, { tool, params }, context);
      await planned.close?.();
      const { about, echoes } = planned;
      return { run: async () => notDone(title, decision), about, echoes };
    },
  };
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

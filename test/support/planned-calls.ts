import type { Executed, Tool, ToolContext, ToolDecision } from '../../src/core/tools/tool.ts';

/** Plans a call and runs it as soon as it is planned; whoever should be asked isn't. */
export async function runPlanned(tool: Tool, params: object, context: ToolContext): Promise<Executed> {
  const plan = await tool.plan({ ...params }, context);
  if ('denied' in plan) throw new Error(plan.denied);
  return await plan.run(context.signal);
}

/** What a tool's own plan says of a call, without the rules of the registry. */
export async function decisionOf(tool: Tool, params: object, context: ToolContext): Promise<ToolDecision> {
  const plan = await tool.plan({ ...params }, context);
  if ('denied' in plan) return { decision: 'deny', reason: plan.denied };
  if (plan.asks !== undefined) return { decision: 'ask', reason: plan.asks.reason, request: plan.asks };
  return { decision: 'allow', ...(plan.allowedBy === undefined ? {} : { reason: plan.allowedBy }) };
}

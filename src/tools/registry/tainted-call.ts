import { taintDecision } from '../../security/access/taint.ts';
import { sentences } from '../../util/text.ts';
import type { DeclaredAction, Taint, ToolContext, ToolDecision } from '../tool.ts';

/** A tool's own decision, which allows or asks, with what the request's taint demands: one question for both. */
export function withTaint(
  own: Exclude<ToolDecision, { decision: 'deny' }>,
  declared: DeclaredAction | null,
  taint: Taint,
): ToolDecision {
  if (declared === null) return own;
  const { action, title, detail } = declared;
  const decision = taintDecision({ taint, action });
  if (decision.decision === 'allow') return own;
  const { reason } = decision;
  if (own.decision === 'allow') return { decision: 'ask', reason, request: { title, detail, reason } };
  const both = sentences(own.reason, reason);
  // While strangers have a say nothing is allowed for good.
  const { always: _, ...request } = own.request;
  return { decision: 'ask', reason: both, request: { ...request, reason: both } };
}

/** What a call shows of the owner's, where others read the answer; null: nothing, or nobody else reads it. */
export function shownToGroup(
  detail: string | null | undefined,
  { chatType }: Pick<ToolContext, 'chatType'>,
): DeclaredAction | null {
  if (detail === null || detail === undefined || chatType === 'direct') return null;
  return { action: { kind: 'show-to-group' }, title: 'Show something of yours to a group', detail };
}

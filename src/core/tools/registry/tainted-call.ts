import { taintDecision } from '../../security/access/taint.ts';
import { sentences } from '../../util/text.ts';
import type { CallPerson, DeclaredAction, Taint, ToolDecision } from '../tool.ts';

/** Combines a tool's own decision (allow or ask) with what the taint of the conversation demands, into one question. */
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
  // "always" is not offered in a conversation with untrusted content.
  const { always: _, ...request } = own.request;
  return { decision: 'ask', reason: both, request: { ...request, reason: both } };
}

/** The action `show-to-group` for a call that would show text of the owner (`detail`) in a group; null: no text, or no group. */
export function shownToGroup(
  detail: string | null | undefined,
  { chatType }: Pick<CallPerson, 'chatType'>,
): DeclaredAction | null {
  if (detail === null || detail === undefined || chatType === 'direct') return null;
  return { action: { kind: 'show-to-group' }, title: 'Show something of yours to a group', detail };
}

import type { AuditDraft } from '../../storage/audit-log.ts';
import type { Tool, ToolContext } from '../tool.ts';

/** Records a decision in the audit log. Never rejects. */
export type Audit = (draft: AuditDraft) => Promise<void>;

type Verdict = Pick<AuditDraft, 'decision'> & Partial<Pick<AuditDraft, 'reason' | 'approval'>>;

/** Whether a call that was allowed without a question is recorded: its tool has effects or talks to the outside. */
export function isAudited({ effect, untrusted }: Tool): boolean {
  return effect !== 'none' || untrusted === true;
}

/** Makes the audit line of a call. */
export function auditOf(
  asked: { readonly name: string; readonly arguments: string },
  { call: { turnId, sessionKey }, person }: Pick<ToolContext, 'call' | 'person'>,
  { decision, reason = null, approval = null }: Verdict,
): AuditDraft {
  return {
    turn: turnId,
    session: sessionKey,
    who: person.who,
    role: person.role,
    origin: person.origin,
    // Line breaks in JSON are only white space between its parts.
    what: `${asked.name} ${asked.arguments}`.replaceAll(/\s*[\r\n]\s*/gu, ' '),
    decision,
    reason,
    approval,
  };
}

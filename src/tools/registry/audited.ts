import type { AuditDraft } from '../../storage/audit-log.ts';
import type { Tool, ToolContext } from '../tool.ts';

/** Keeps what was decided; never throws. */
export type Audit = (draft: AuditDraft) => Promise<void>;

type Verdict = Pick<AuditDraft, 'decision'> & Partial<Pick<AuditDraft, 'reason' | 'approval'>>;

/** Whether a call that needs no question is worth a line: it changes something, or asks somebody outside. */
export function isAudited({ effect, untrusted }: Tool): boolean {
  return effect !== 'none' || untrusted === true;
}

/** The line about a call. */
export function auditOf(
  call: { readonly name: string; readonly arguments: string },
  { turnId, sessionKey, who, role, origin }: ToolContext,
  { decision, reason = null, approval = null }: Verdict,
): AuditDraft {
  return {
    turn: turnId,
    session: sessionKey,
    who: who ?? null,
    role,
    origin,
    // In JSON a line break is nothing but space between its parts.
    what: `${call.name} ${call.arguments}`.replaceAll(/\s*[\r\n]\s*/gu, ' '),
    decision,
    reason,
    approval,
  };
}

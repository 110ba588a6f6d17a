import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import type { Showing, Shown } from '../../core/cli/asking.ts';

/** `assistant audit`: who wanted what, and what was decided, oldest first. */
export function auditLines(found: RequestResult<'audit'>, { second }: Pick<Showing<unknown>, 'second'>): Shown {
  const facts = found.toReversed();
  const lines = facts.map(({ at, who, role, what, decision, reason, approval, turn }) => {
    const why = [reason, approval === null ? null : `${decision}: ${approval}`].filter((part) => part !== null);
    const head = `${second(Date.parse(at))}  ${decision.padEnd(8)}  ${who ?? 'itself'} (${role})`;
    return `${head}  ${what}${why.length === 0 ? '' : `\n    ${why.join('; ')}`}${turn === null ? '' : `\n    turn ${turn}`}`;
  });
  return { facts, lines };
}

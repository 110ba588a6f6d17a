import type { CliContext } from '../../core/cli/context.ts';
import { localSecond } from '../../core/util/time-zone.ts';
import { openAssistant, zoneOf } from '../open.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant audit`: who wanted what, and what was decided, oldest first. */
export async function auditCommand(
  { home, json, last, asked, about = '' }: OutputFlags & { last: number; asked: boolean; about: string | undefined },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const found = await assistant.port.call('audit', { count: last, asked, about });
  const facts = found.toReversed();
  const zone = await zoneOf(context, home);
  const lines = facts.map(({ at, who, role, what, decision, reason, approval, turn }) => {
    const why = [reason, approval === null ? null : `${decision}: ${approval}`].filter((part) => part !== null);
    const head = `${localSecond(Date.parse(at), zone)}  ${decision.padEnd(8)}  ${who ?? 'itself'} (${role})`;
    return `${head}  ${what}${why.length === 0 ? '' : `\n    ${why.join('; ')}`}${turn === null ? '' : `\n    turn ${turn}`}`;
  });
  print(context, json, { facts, lines, nothing: 'There are no entries yet.' });
  return 0;
}

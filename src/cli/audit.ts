import type { CliContext } from './context.ts';
import { DEFAULT_COUNT, textFlag, wholeNumberFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, escapeInvisible } from './format.ts';

/** `assistant audit`: who wanted what, and what was decided, oldest first. */
export async function auditCommand(flags: Readonly<Record<string, unknown>>, context: CliContext): Promise<number> {
  const count = wholeNumberFlag(flags, 'last', { min: 1, max: 9_999 }) ?? DEFAULT_COUNT;
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const about = textFlag(flags, 'about') ?? '';
  const found = await assistant.port.request('audit', { count, asked: flags['asked'] === true, about });
  const lines = found.toReversed().map(({ at, who, role, what, decision, reason, approval, turn }) => {
    const why = [reason, approval === null ? null : `${decision}: ${approval}`].filter((part) => part !== null);
    const head = `${at.slice(0, 19).replace('T', ' ')}  ${decision.padEnd(8)}  ${who ?? 'itself'} (${role})`;
    return `${head}  ${what}${why.length === 0 ? '' : `\n    ${why.join('; ')}`}${turn === null ? '' : `\n    turn ${turn}`}`;
  });
  const text = flags['json'] === true ? json(found.toReversed()) : escapeInvisible(lines.join('\n'));
  context.stdout.write(`${text === '' ? 'Nothing was decided yet.' : text}\n`);
  return 0;
}

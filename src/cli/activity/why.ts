import type { CliContext } from '../context.ts';
import { openAssistant } from '../open.ts';
import { print } from '../print.ts';
import type { OutputFlags } from '../table/command.ts';

/** `assistant why`: what it did by itself, oldest first, and why that was told or kept silent. */
export async function whyCommand(
  { home, json, last }: OutputFlags & { readonly last: number },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const facts = (await assistant.port.request('why', { count: last })).toReversed();
  const lines = facts.map(({ at, what, outcome, reason }) => {
    const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ');
    return `${time}  ${outcome.padEnd(13)}  ${what}${reason === null ? '' : `\n    ${reason}`}`;
  });
  print(context, json, { facts, lines, nothing: 'No scheduled job or heartbeat has run yet.' });
  return 0;
}

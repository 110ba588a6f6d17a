import type { CliContext } from './context.ts';
import { DEFAULT_COUNT, textFlag, wholeNumberFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, escapeInvisible } from './format.ts';

/** `assistant why`: what it did by itself, oldest first, and why that was told or kept silent. */
export async function whyCommand(flags: Readonly<Record<string, unknown>>, context: CliContext): Promise<number> {
  const count = wholeNumberFlag(flags, 'last', { min: 1, max: 999 }) ?? DEFAULT_COUNT;
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const found = await assistant.port.request('why', { count });
  const steps = found.toReversed();
  const lines = steps.map(({ at, what, outcome, reason }) => {
    const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ');
    return `${time}  ${outcome.padEnd(13)}  ${what}${reason === null ? '' : `\n    ${reason}`}`;
  });
  const text = flags['json'] === true ? json(steps) : escapeInvisible(lines.join('\n'));
  context.stdout.write(`${text === '' ? 'It did nothing by itself yet.' : text}\n`);
  return 0;
}

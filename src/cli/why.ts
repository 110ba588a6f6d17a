import type { CliContext } from './context.ts';
import { textFlag, usageError } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, visible } from './printable.ts';

const DEFAULT_COUNT = '30';

/** `assistant why`: what it did by itself, oldest first, and why that was told or kept silent. */
export async function whyCommand(flags: Readonly<Record<string, unknown>>, context: CliContext): Promise<number> {
  const given = textFlag(flags, 'last') ?? DEFAULT_COUNT;
  if (!/^[1-9]\d{0,2}$/u.test(given)) {
    throw usageError(`--last takes a number from 1 to 999, but ${JSON.stringify(given.slice(0, 40))} was given.`);
  }
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const found = await assistant.port.request('why', { count: Number(given) });
  const steps = found.toReversed();
  const lines = steps.map(({ at, what, outcome, reason }) => {
    const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ');
    return `${time}  ${outcome.padEnd(13)}  ${what}${reason === null ? '' : `\n    ${reason}`}`;
  });
  const text = flags['json'] === true ? json(steps) : visible(lines.join('\n'));
  context.stdout.write(`${text === '' ? 'It did nothing by itself yet.' : text}\n`);
  return 0;
}

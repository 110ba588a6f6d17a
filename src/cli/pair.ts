import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, visible } from './printable.ts';

type Flags = Readonly<Record<string, unknown>>;

/** `assistant pair [list]`. */
export async function pairListCommand(flags: Flags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const desk = await assistant.port.request('pairList', {});
  const { people, pending, lockedUntil } = desk;
  const lines = [
    ...people.map((one) => `${labelOf(one)}  since ${minute(one.addedAt)}, by ${one.addedBy}`),
    ...pending.map((one) => `${labelOf(one)}  waits with the code ${one.code}, until ${minute(one.expiresAt)}`),
    ...(lockedUntil === null ? [] : [`Too many codes were wrong: none is taken until ${minute(lockedUntil)}.`]),
  ];
  print(context, flags, desk, lines.length === 0 ? ['Nobody was let in by a code, and nobody waits.'] : lines);
  return 0;
}

/** `assistant pair approve CODE`. */
export async function pairApproveCommand(
  flags: Flags,
  context: CliContext,
  [code = '']: readonly string[],
): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const approved = await assistant.port.request('pairApprove', { code });
  print(context, flags, { approved }, [`${labelOf(approved)} may write to it now.`]);
  return 0;
}

/** `assistant pair remove CHANNEL:ID`. */
export async function pairRemoveCommand(
  flags: Flags,
  context: CliContext,
  [person = '']: readonly string[],
): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const removed = await assistant.port.request('pairRemove', { person });
  print(context, flags, { removed }, [`${labelOf(removed)} may not write to it any more.`]);
  return 0;
}

function labelOf({ channel, id, name }: { channel: string; id: string; name: string | null }): string {
  return name === null ? `${channel}:${id}` : `${channel}:${id} (${name})`;
}

function minute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function print(context: CliContext, flags: Flags, facts: object, lines: readonly string[]): void {
  const text = flags['json'] === true ? json(facts) : visible(lines.join('\n'));
  context.stdout.write(`${text}\n`);
}

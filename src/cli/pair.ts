import { assistantCommand } from '../util/assistant-command.ts';
import { confirm } from './confirm.ts';
import type { CliContext } from './context.ts';
import { textFlag, usageError } from './flags.ts';
import { openAssistant, type OpenedAssistant } from './open.ts';
import { json, escapeInvisible } from './format.ts';

type Flags = Readonly<Record<string, unknown>>;

/** `assistant pair [list]`. */
export async function pairListCommand(flags: Flags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const pairing = await assistant.port.request('pairList', {});
  const { people, pending, lockedUntil } = pairing;
  const lines = [
    ...people.map((one) => `${labelOf(one)}  ${one.role}, since ${minute(one.addedAt)}, by ${one.addedBy}`),
    ...pending.map((one) => `${labelOf(one)}  waits with the code ${one.code}, until ${minute(one.expiresAt)}`),
    ...(lockedUntil === null ? [] : [`Too many codes were wrong: pairing is locked until ${minute(lockedUntil)}.`]),
  ];
  print(context, flags, pairing, lines.length === 0 ? ['Nobody is paired, and no request is waiting.'] : lines);
  return 0;
}

/** `assistant pair approve CODE [--owner | --trusted]`. */
export async function pairApproveCommand(
  flags: Flags,
  context: CliContext,
  [code = '']: readonly string[],
): Promise<number> {
  if (flags['owner'] === true && flags['trusted'] === true) {
    throw usageError('Expected --owner or --trusted, but both were given. Leave one out.');
  }
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const role = flags['owner'] === true || (await isYourself(context, assistant, { code, flags })) ? 'owner' : 'trusted';
  const approved = await assistant.port.request('pairApprove', { code, role });
  const promote = `To make them an owner: ${assistantCommand(`pair approve ${approved.channel}:${approved.id} --owner`)}`;
  print(context, flags, { approved }, [
    `${labelOf(approved)} may write to it now, as ${approved.role === 'owner' ? 'an owner' : 'a trusted person'}.`,
    approved.may,
    ...(approved.role === 'owner' ? [] : [promote]),
  ]);
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
  print(context, flags, { removed }, [
    `${labelOf(removed)} may not write to it any more.`,
    ...(removed.ownerless === null ? [] : [`⚠ ${removed.ownerless}`]),
  ]);
  return 0;
}

/**
 * Where nobody is owner yet, the first who is let in is most likely the one who sits here: asks. Never where a flag says
 * it, or nobody can answer.
 */
async function isYourself(
  context: CliContext,
  { port }: OpenedAssistant,
  { code, flags }: { readonly code: string; readonly flags: Flags },
): Promise<boolean> {
  const isTerminal = context.stdin.isTTY === true && context.stdout.isTTY === true;
  if (flags['trusted'] === true || flags['json'] === true || !isTerminal) return false;
  const { hasOwner, pending, people } = await port.request('pairList', {});
  if (hasOwner) return false;
  const typed = code.toUpperCase().replace(/[\s-]/gu, '');
  const person =
    pending.find((one) => one.code === typed) ?? people.find(({ channel, id }) => `${channel}:${id}` === code);
  // The refusal of a wrong code comes from where codes are known.
  if (person === undefined) return false;
  const question = `Nobody is the owner of this assistant yet. Is ${labelOf(person)} you, and the owner?`;
  return await confirm(context, escapeInvisible(question), { yes: false });
}

function labelOf({ channel, id, name }: { channel: string; id: string; name: string | null }): string {
  return name === null ? `${channel}:${id}` : `${channel}:${id} (${name})`;
}

function minute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function print(context: CliContext, flags: Flags, facts: object, lines: readonly string[]): void {
  const text = flags['json'] === true ? json(facts) : escapeInvisible(lines.join('\n'));
  context.stdout.write(`${text}\n`);
}

import { assistantCommand } from '../util/assistant-command.ts';
import { confirm } from './confirm.ts';
import type { CliContext } from './context.ts';
import { openAssistant, type OpenedAssistant } from './open.ts';
import { escapeInvisible, print } from './format.ts';
import type { OutputFlags } from './table/command.ts';
import { usageError } from './usage.ts';

type ApproveFlags = OutputFlags & { readonly code: string; readonly owner: boolean; readonly trusted: boolean };

/** `assistant pair [list]`. */
export async function pairListCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const pairing = await assistant.port.request('pairList', {});
  const { people, pending, lockedUntil } = pairing;
  const lines = [
    ...people.map((one) => `${labelOf(one)}  ${one.role}, since ${minute(one.addedAt)}, by ${one.addedBy}`),
    ...pending.map((one) => `${labelOf(one)}  is waiting with the code ${one.code}, until ${minute(one.expiresAt)}`),
    ...(lockedUntil === null ? [] : [`Too many wrong codes: pairing is locked until ${minute(lockedUntil)}.`]),
  ];
  print(context, json, { facts: pairing, lines, nothing: 'No one is paired, and no request is waiting.' });
  return 0;
}

/** `assistant pair approve CODE [--owner | --trusted]`. */
export async function pairApproveCommand(flags: ApproveFlags, context: CliContext): Promise<number> {
  const { code, home, json, owner, trusted } = flags;
  if (owner && trusted) {
    throw usageError('Expected --owner or --trusted, but both were given. Leave one out.');
  }
  await using assistant = await openAssistant(context, home);
  const role = owner || (await isYourself(context, assistant, flags)) ? 'owner' : 'trusted';
  const approved = await assistant.port.request('pairApprove', { code, role });
  const promote = `To make them an owner: ${assistantCommand(`pair approve ${approved.channel}:${approved.id} --owner`)}`;
  const lines = [
    `${labelOf(approved)} can write to the assistant now, as ${approved.role === 'owner' ? 'an owner' : 'a trusted person'}.`,
    approved.may,
    ...(approved.role === 'owner' ? [] : [promote]),
  ];
  print(context, json, { facts: { approved }, lines });
  return 0;
}

/** `assistant pair remove CHANNEL:ID`. */
export async function pairRemoveCommand(
  { person, home, json }: OutputFlags & { readonly person: string },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const removed = await assistant.port.request('pairRemove', { person });
  const lines = [
    `${labelOf(removed)} can no longer write to the assistant.`,
    ...(removed.ownerless === null ? [] : [`⚠ ${removed.ownerless}`]),
  ];
  print(context, json, { facts: { removed }, lines });
  return 0;
}

/**
 * If the assistant has no owner yet, asks at the terminal whether the person with this code is the owner. False without
 * asking when `--trusted` or `--json` is given, when there is no terminal, or when the code is not known.
 */
async function isYourself(
  context: CliContext,
  { port }: OpenedAssistant,
  { code, trusted, json }: ApproveFlags,
): Promise<boolean> {
  const isTerminal = context.stdin.isTTY === true && context.stdout.isTTY === true;
  if (trusted || json || !isTerminal) return false;
  const { hasOwner, pending, people } = await port.request('pairList', {});
  if (hasOwner) return false;
  const typed = code.toUpperCase().replace(/[\s-]/gu, '');
  const person =
    pending.find((one) => one.code === typed) ?? people.find(({ channel, id }) => `${channel}:${id}` === code);
  // The request `pairApprove` refuses an unknown code with the reason.
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

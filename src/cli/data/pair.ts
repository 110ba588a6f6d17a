import { assistantCommand } from '../../core/util/assistant-command.ts';
import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import type { Showing, Shown } from '../../core/cli/asking.ts';
import { confirm } from '../../core/cli/confirm.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { openAssistant, type OpenedAssistant } from '../../core/cli/open.ts';
import { escapeInvisible } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';
import { usageError } from '../../core/cli/usage.ts';

type ApproveFlags = OutputFlags & Readonly<Record<'owner' | 'trusted' | 'guest', boolean>> & { readonly code: string };

const ROLES = ['owner', 'trusted', 'guest'] as const;
const CALLED = { owner: 'an owner', trusted: 'a trusted person', guest: 'a guest' } as const;

/** `assistant pair [list]`. */
export function pairLines(
  { people, configured, pending, lockedUntil }: RequestResult<'pairList'>,
  { minute }: Pick<Showing<unknown>, 'minute'>,
): readonly string[] {
  return [
    ...configured.map((one) => `${labelOf(one)}  ${one.role}, by the configuration`),
    ...people.map((one) => `${labelOf(one)}  ${one.role}, since ${minute(one.addedAt)}, by ${one.addedBy}`),
    ...pending.map((one) => `${labelOf(one)}  is waiting with the code ${one.code}, until ${minute(one.expiresAt)}`),
    ...(lockedUntil === null ? [] : [`Too many wrong codes: pairing is locked until ${minute(lockedUntil)}.`]),
  ];
}

/** `assistant pair approve CODE [--owner | --trusted | --guest]`. */
export async function pairApproveCommand(flags: ApproveFlags, context: CliContext): Promise<number> {
  const { code, home, json } = flags;
  const given = ROLES.filter((role) => flags[role]);
  if (given.length > 1) {
    const names = given.map((role) => `--${role}`).join(' and ');
    throw usageError(`Expected one of --owner, --trusted and --guest, but ${names} were given. Leave one role.`);
  }
  await using assistant = await openAssistant(context, home);
  const role = given[0] ?? ((await isYourself(context, assistant, flags)) ? 'owner' : 'trusted');
  const approved = await assistant.port.call('pairApprove', { code, role });
  const change = (to: string): string => assistantCommand(`pair approve ${approved.channel}:${approved.id} --${to}`);
  const promote = {
    owner: [],
    trusted: [`To make them an owner: ${change('owner')}`],
    guest: [`To make them trusted: ${change('trusted')}`],
  }[approved.role];
  const lines = [
    `${labelOf(approved)} can write to the assistant now, as ${CALLED[approved.role]}.`,
    approved.may,
    ...promote,
  ];
  print(context, json, { facts: { approved }, lines });
  return 0;
}

/** `assistant pair remove CHANNEL:ID`. */
export function removedLines(removed: RequestResult<'pairRemove'>): Shown {
  const { still, ownerless } = removed;
  const lines = [
    `${labelOf(removed)} ${still === null ? 'can no longer write to the assistant' : 'is no longer paired'}.`,
    ...(still === null ? [] : [`⚠ ${still}`]),
    ...(ownerless === null ? [] : [`⚠ ${ownerless}`]),
  ];
  return { facts: { removed }, lines };
}

/**
 * If the assistant has no owner yet, asks at the terminal whether the person with this code is the owner. False without
 * asking when `--json` is given, when there is no terminal, or when the code is not known.
 */
async function isYourself(
  context: CliContext,
  { port }: OpenedAssistant,
  { code, json }: ApproveFlags,
): Promise<boolean> {
  const isTerminal = context.stdin.isTTY === true && context.stdout.isTTY === true;
  if (json || !isTerminal) return false;
  const { hasOwner, pending, people } = await port.call('pairList', {});
  if (hasOwner) return false;
  const typed = code.toUpperCase().replace(/[\s-]/gu, '');
  const person =
    pending.find((one) => one.code === typed) ?? people.find(({ channel, id }) => `${channel}:${id}` === code);
  // The request `pairApprove` refuses an unknown code with the reason.
  if (person === undefined) return false;
  const question = `No one is the owner of this assistant yet. Is ${labelOf(person)} you, and the owner?`;
  return await confirm(context, escapeInvisible(question), { yes: false });
}

function labelOf({ channel, id, name }: { channel: string; id: string; name: string | null }): string {
  return name === null ? `${channel}:${id}` : `${channel}:${id} (${name})`;
}

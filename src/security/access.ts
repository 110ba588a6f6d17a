import type { Role } from '../bus/messages.ts';

const RANKS = { guest: 0, trusted: 1, owner: 2 } as const satisfies Record<Role, number>;

/** Higher may do more. */
export function roleRank(role: Role): number {
  return RANKS[role];
}

/** Whether `role` may do what needs `needed`. */
export function atLeast(role: Role, needed: Role): boolean {
  return roleRank(role) >= roleRank(needed);
}

/** The role of a turn that several people started; `guest` when nobody is named. */
export function weakest(...roles: readonly Role[]): Role {
  const [first, ...others] = roles;
  if (first === undefined) return 'guest';
  return others.reduce<Role>((weak, role) => (roleRank(role) < roleRank(weak) ? role : weak), first);
}

/** Who writes, where, and whom the configuration lets in. Whatever is missing denies. */
export interface AccessQuestion {
  /** The platform's immutable id, as text. */
  readonly senderId?: string | undefined;
  readonly chatType?: 'direct' | 'group' | undefined;
  readonly chatId?: string | undefined;
  /** Ids of people, `*` for everybody as a guest. */
  readonly allowFrom?: readonly string[] | undefined;
  /** Ids of owners. Empty or missing: a single id in `allowFrom` is the owner. */
  readonly owners?: readonly string[] | undefined;
  /** `allow`: ids of open groups, `*` for all groups; their members are guests. */
  readonly groups?: { readonly allow: readonly string[] } | undefined;
}

export type AccessDecision =
  | { readonly allowed: true; readonly role: Role }
  | { readonly allowed: false; readonly reason: string };

const EVERYBODY = '*';

/** Decides by exact ids whether somebody may talk to the assistant, and as what. Denies unless something allows. */
export function decideAccess(question: AccessQuestion): AccessDecision {
  const { senderId, chatType, chatId, allowFrom } = question;
  if (!isId(senderId)) return deny('the message does not say who sent it');
  if (!isId(chatId) || (chatType !== 'direct' && chatType !== 'group')) {
    return deny('the message does not say in which chat it was written');
  }
  if (allowFrom === undefined) return deny('the channel has no allowFrom list');

  const listed = [...new Set(allowFrom.filter((id) => id !== EVERYBODY))];
  const owners = (question.owners ?? []).filter((id) => id !== EVERYBODY);
  if (owners.includes(senderId)) return { allowed: true, role: 'owner' };
  if (listed.includes(senderId)) {
    const alone = (question.owners ?? []).length === 0 && listed.length === 1;
    return { allowed: true, role: alone ? 'owner' : 'trusted' };
  }
  if (allowFrom.includes(EVERYBODY)) return { allowed: true, role: 'guest' };
  if (chatType === 'group' && isOpen(chatId, question.groups?.allow ?? [])) return { allowed: true, role: 'guest' };
  return deny(`the sender ${senderId} is not in allowFrom`);
}

function isId(id: string | undefined): id is string {
  return typeof id === 'string' && id !== '' && id !== EVERYBODY;
}

function isOpen(chatId: string, allow: readonly string[]): boolean {
  return allow.includes(chatId) || allow.includes(EVERYBODY);
}

function deny(reason: string): AccessDecision {
  return { allowed: false, reason };
}

/** A role as the journal keeps it. Unknown words are the weakest. */
export function asRole(role: string): Role {
  return role === 'owner' || role === 'trusted' ? role : 'guest';
}

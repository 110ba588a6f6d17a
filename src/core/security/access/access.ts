import type { PairedRole, Role } from '../../bus/messages.ts';

const RANKS = { guest: 0, trusted: 1, owner: 2 } as const satisfies Record<Role, number>;

/** Rank of a role: 0 guest, 1 trusted, 2 owner. */
export function roleRank(role: Role): number {
  return RANKS[role];
}

/** Whether `role` has at least the rights of `needed`. */
export function atLeast(role: Role, needed: Role): boolean {
  return roleRank(role) >= roleRank(needed);
}

/** The lowest of the given roles, as for a turn that several people started; `guest` when there is none. */
export function weakest(...roles: readonly Role[]): Role {
  const [first, ...others] = roles;
  if (first === undefined) return 'guest';
  return others.reduce<Role>((weak, role) => (roleRank(role) < roleRank(weak) ? role : weak), first);
}

/** Starts the sender id of a webhook. Its subagents, their results and its background commands keep that sender. */
const WEBHOOK = 'hook:';

export function webhookSender(name: string): string {
  return WEBHOOK + name;
}

/** Whether memory and the owner's private files may be shown: to the owner in a direct chat, never to a webhook. */
export function seesPrivate(where: {
  readonly role?: Role;
  readonly chatType?: 'direct' | 'group' | null;
  /** `channel:id` of the sender. */
  readonly who?: string | null;
}): boolean {
  const sender = where.who?.slice(where.who.indexOf(':') + 1);
  return where.role === 'owner' && where.chatType === 'direct' && sender?.startsWith(WEBHOOK) !== true;
}

/** The part of a channel's configuration that says who may write. */
export interface AccessSettings {
  /** Ids of people, `*` for everybody as a guest. */
  readonly allowFrom?: readonly string[];
  /** Ids of owners. Empty or missing: a single id in `allowFrom` is the owner. */
  readonly owners?: readonly string[];
  readonly groups?: {
    /** `open`: members of the groups named in `allow` are guests. */
    readonly policy?: 'mention' | 'open' | 'off' | undefined;
    /** Ids of the groups in which the assistant takes part; empty or `*`: every group. */
    readonly allow?: readonly string[] | undefined;
    /** Ids of other bots that may write, in groups only and as guests. */
    readonly allowBots?: readonly string[] | undefined;
  };
}

/** Facts about a message for `decideAccess`: how it came, who sent it, in which chat. A missing fact denies access. */
export type AccessQuestion =
  /** Always the owner: only the owner can read the files and the token that these ways need. */
  | { readonly via: 'terminal' | 'control-socket' | 'gateway-token' }
  | {
      readonly via: 'channel';
      readonly settings?: AccessSettings;
      /** The role that a person was paired with; undefined: not paired. @default no one is paired */
      readonly pairedRole?: (senderId: string, chatId?: string) => PairedRole | undefined;
      readonly chatType?: 'direct' | 'group';
      readonly chatId?: string;
      readonly sender?: {
        /** The platform's immutable id, as text. */
        readonly id?: string | undefined;
        readonly isBot?: boolean | undefined;
        /** True for the assistant's own account. */
        readonly isSelf?: boolean | undefined;
      };
    };

export type AccessDecision =
  | { readonly allowed: true; readonly role: Role }
  | {
      readonly allowed: false;
      readonly reason: string;
      /** An unknown person, who may be offered pairing in a direct chat and is met with silence in a group. */
      readonly stranger: 'direct' | 'group' | null;
    };

type ChannelQuestion = Extract<AccessQuestion, { readonly via: 'channel' }>;

const EVERYBODY = '*';
/** Why the assistant's own messages are denied. */
export const OWN = 'the assistant wrote it';

/** Decides the role of a sender, or denies access. Compares exact ids only. Denies unless a rule allows. */
export function decideAccess(question: AccessQuestion): AccessDecision {
  switch (question.via) {
    case 'terminal':
    case 'control-socket':
    case 'gateway-token':
      return allow('owner');
    case 'channel':
      return decideChannel(question);
    default:
      return deny('the message does not say how it came');
  }
}

/** The role of a person at the terminal, the control socket or the gateway. */
export function localRole(via: Exclude<AccessQuestion['via'], 'channel'>): Role {
  const decision = decideAccess({ via });
  return decision.allowed ? decision.role : 'guest';
}

function decideChannel({ settings, sender, chatType, chatId, pairedRole }: ChannelQuestion): AccessDecision {
  const id = sender?.id;
  if (!isId(id)) return deny('the message does not say who sent it');
  if (sender?.isSelf !== false || typeof sender.isBot !== 'boolean') {
    return deny(sender?.isSelf === true ? OWN : 'the message does not say what its sender is');
  }
  if (!isId(chatId) || (chatType !== 'direct' && chatType !== 'group')) {
    return deny('the message does not say in which chat it was written');
  }
  if (settings?.allowFrom === undefined) return deny('the channel has no allowFrom list');
  const { groups } = settings;
  if (chatType === 'group') {
    const closed = whyClosed(chatId, groups);
    if (closed !== null) return deny(closed);
  }
  if (sender.isBot) {
    const isHeard = chatType === 'group' && groups?.allowBots?.includes(id) === true;
    return isHeard ? allow('guest') : deny('its sender is a bot that groups.allowBots does not name');
  }
  const role = strongest(configuredRole(id, settings), pairedRole?.(id, chatId));
  if (role !== undefined) return allow(role);
  if (settings.allowFrom.includes(EVERYBODY)) return allow('guest');
  if (chatType === 'group' && groups?.policy === 'open' && names(groups.allow, chatId)) return allow('guest');
  return { ...deny('its sender is neither in allowFrom nor paired'), stranger: chatType };
}

/** Why messages of a group are not read; null when they are. */
function whyClosed(chatId: string, groups: AccessSettings['groups']): string | null {
  const { policy, allow: allowed } = groups ?? {};
  if (policy !== 'mention' && policy !== 'open') return 'groups are off (groups.policy)';
  if (allowed === undefined) return 'the channel has no groups.allow list';
  if (allowed.length === 0 || names(allowed, chatId)) return null;
  return `the group ${chatId} is not in groups.allow`;
}

/** The highest of the given roles; undefined when there is none. */
function strongest(...roles: readonly (Role | undefined)[]): Role | undefined {
  return roles.reduce<Role | undefined>(
    (best, role) => (best === undefined || (role !== undefined && atLeast(role, best)) ? role : best),
    undefined,
  );
}

/** The role that `owners` and `allowFrom` give an id; undefined: none. `*` is ignored here. */
function configuredRole(id: string, { allowFrom = [], owners = [] }: AccessSettings): Role | undefined {
  if (owners.includes(id)) return 'owner';
  if (!allowFrom.includes(id)) return undefined;
  const listed = new Set(allowFrom.filter((entry) => entry !== EVERYBODY));
  return owners.length === 0 && listed.size === 1 ? 'owner' : 'trusted';
}

/**
 * The highest role that a person can have in a channel's groups. The tools of a group are listed for this role, so that the
 * list is the same for every sender; each call is still checked against the role of its turn. `paired`: the roles of people
 * who were paired on the channel.
 */
export function strongestRole(settings: AccessSettings | undefined, paired: readonly PairedRole[] = []): Role {
  // At least trusted, because a person may be paired at any time.
  return paired.includes('owner') || configuredOwners(settings).length > 0 ? 'owner' : 'trusted';
}

/** The ids that the configuration makes owners of a channel. */
export function configuredOwners(settings: AccessSettings | undefined): readonly string[] {
  const { allowFrom = [], owners = [] } = settings ?? {};
  return [...new Set([...owners, ...allowFrom])].filter(
    (id) => isId(id) && configuredRole(id, { allowFrom, owners }) === 'owner',
  );
}

function isId(id: string | undefined): id is string {
  return typeof id === 'string' && id !== '' && id !== EVERYBODY;
}

function names(list: readonly string[] | undefined, chatId: string): boolean {
  return list?.includes(chatId) === true || list?.includes(EVERYBODY) === true;
}

function allow(role: Role): AccessDecision {
  return { allowed: true, role };
}

function deny(reason: string): Extract<AccessDecision, { readonly allowed: false }> {
  return { allowed: false, reason, stranger: null };
}

/** Reads a role from the journal; an unknown text becomes `guest`. */
export function asRole(role: string): Role {
  return role === 'owner' || role === 'trusted' ? role : 'guest';
}

import { normalize } from 'node:path';
import type { Role } from '../../bus/messages.ts';
import { atLeast } from '../../security/access/access.ts';
import { taintDecision } from '../../security/access/taint.ts';
import { runsOnly } from '../../security/commands/prefix.ts';
import { within } from '../../security/paths/rules.ts';
import { sentences } from '../../util/text.ts';
import type { ActiveSkills, Planned, Tool, ToolContext, ToolDecision } from '../tool.ts';

export interface ToolPolicy {
  /** Names or patterns with `*`. */
  readonly allow: readonly string[];
  /** Names or patterns; stronger than `allow`. */
  readonly deny: readonly string[];
  /** Names or patterns of the only tools that guests may call; tools for the owner stay refused. */
  readonly guest: readonly string[];
}

/** Why a role may not call a tool; null when it may. */
export function refusalOf(tool: Tool, role: Role, policy: ToolPolicy): string | null {
  if (matches(policy.deny, tool.name) || !matches(policy.allow, tool.name)) {
    return `${tool.name} is switched off in this assistant's configuration (tools.allow, tools.deny).`;
  }
  const needed = tool.role ?? 'trusted';
  if (role === 'guest') {
    return needed !== 'owner' && matches(policy.guest, tool.name) ? null : `${tool.name} is not for guests.`;
  }
  return atLeast(role, needed) ? null : `${tool.name} is for the ${needed} only.`;
}

/** Whether one of the patterns matches the whole name; `*` matches any text. */
export function matches(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`, 'u').test(name);
  });
}

/** Decides about a call whose role may make it: what the turn and its skills limit, what the plan says, what taint demands. */
export function decide(
  planned: Planned,
  { tool: { name }, params }: { readonly tool: Tool; readonly params: Readonly<Record<string, unknown>> },
  { limits, conversation, person }: Pick<ToolContext, 'limits' | 'conversation' | 'person'>,
): ToolDecision {
  const withheld = limits.withheld(name);
  if (withheld !== null) return { decision: 'deny', reason: `${withheld}.` };
  const limited = refusedBySkills(name, params, limits.skills);
  if (limited !== null) return { decision: 'deny', reason: limited };
  if ('denied' in planned) return { decision: 'deny', reason: planned.denied };
  const { asks, reaches, allowedBy } = planned;
  const isShown = reaches?.action.kind !== 'show-to-group' || person.chatType !== 'direct';
  const tainted =
    isShown && reaches !== undefined ? taintDecision({ taint: conversation.taint, action: reaches.action }) : null;
  if (reaches === undefined || tainted?.decision !== 'ask') {
    if (asks !== undefined) return { decision: 'ask', reason: asks.reason, request: asks };
    return { decision: 'allow', ...(allowedBy === undefined ? {} : { reason: allowedBy }) };
  }
  if (asks === undefined) {
    const { title, detail } = reaches;
    return { decision: 'ask', reason: tainted.reason, request: { title, detail, reason: tainted.reason } };
  }
  const reason = sentences(asks.reason, tainted.reason);
  // "always" is not offered in a conversation with untrusted content.
  const { always: _, ...request } = asks;
  return { decision: 'ask', reason, request: { ...request, reason } };
}

/** Always allowed: loading another skill, which adds its own limits. */
const FREE = new Set(['skill']);
/** Allowed for the files of an active skill. */
const READERS = new Set(['read_file', 'list_dir', 'glob', 'grep']);

/** Why the limits of the active skills refuse a call; null when they allow it. */
export function refusedBySkills(
  tool: string,
  params: Readonly<Record<string, unknown>>,
  skills: ActiveSkills,
): string | null {
  if (skills.allowed === null || FREE.has(tool)) return null;
  const path = params['path'];
  if (
    READERS.has(tool) &&
    typeof path === 'string' &&
    skills.folders.some((folder) => within(folder, normalize(path)))
  ) {
    return null;
  }
  const rules = skills.allowed.filter((rule) => rule.tool === tool);
  const prefixes = rules.flatMap(({ commandPrefix }) => commandPrefix ?? []);
  if (rules.some(({ commandPrefix }) => commandPrefix === undefined)) return null;
  const command = params['command'];
  if (prefixes.length > 0 && typeof command === 'string' && runsOnly(command, prefixes)) return null;
  const limits = skills.allowed.map((rule) =>
    rule.commandPrefix === undefined ? rule.tool : `${rule.tool} (only ${rule.commandPrefix} …)`,
  );
  const all = [...new Set(limits)].join(', ') || 'nothing';
  return `${tool} cannot be called: until this turn ends the active skill (${skills.limitedBy.join(', ')}) allows only ${all}.`;
}

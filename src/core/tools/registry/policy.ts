import type { Role } from '../../bus/messages.ts';
import { atLeast } from '../../security/access/access.ts';
import type { Tool } from '../tool.ts';

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

import { normalize } from 'node:path';
import type { Role } from '../../bus/messages.ts';
import { atLeast } from '../../security/access/access.ts';
import { taintDecision } from '../../security/access/taint.ts';
import { runsOnly } from '../../security/commands/plain.ts';
import { within } from '../../security/paths/rules.ts';
import { matchesName, sentences } from '../../util/text.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import type { ActiveSkills, ApprovalRequest, DeclaredAction, Planned, Tool, ToolContext } from '../tool.ts';

/** What the rules say of a call before it runs. */
export type ToolDecision =
  | { readonly decision: 'allow'; /** Why no one is asked, where that is worth telling. */ readonly reason?: string }
  | { readonly decision: 'ask'; readonly reason: string; readonly request: ApprovalRequest }
  | { readonly decision: 'deny'; readonly reason: string };

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
  if (matchesName(policy.deny, tool.name) || !matchesName(policy.allow, tool.name)) {
    return `${tool.name} is switched off in this assistant's configuration (tools.allow, tools.deny).`;
  }
  const needed = tool.role ?? 'trusted';
  if (role === 'guest') {
    return needed !== 'owner' && matchesName(policy.guest, tool.name) ? null : `${tool.name} is not for guests.`;
  }
  return atLeast(role, needed) ? null : `${tool.name} is for the ${needed} only.`;
}

interface CallOfTool {
  readonly tool: Tool;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Why the turn or its skills refuse a call, whatever its plan is; null when they allow it. */
export function refusedUnplanned(
  { tool: { name }, params }: CallOfTool,
  { limits }: Pick<ToolContext, 'limits'>,
): string | null {
  const withheld = limits.withheld(name);
  return withheld === null ? refusedBySkills(name, params, limits.skills) : `${withheld}.`;
}

/** Decides about a call whose role may make it: what the turn and its skills limit, what the plan says, what taint demands. */
export function decide(
  planned: Planned,
  call: CallOfTool,
  context: Pick<ToolContext, 'limits' | 'conversation' | 'person'>,
): ToolDecision {
  const { conversation, person } = context;
  const refused = refusedUnplanned(call, context);
  if (refused !== null) return { decision: 'deny', reason: refused };
  if ('denied' in planned) return { decision: 'deny', reason: planned.denied };
  const { asks, reaches, allowedBy } = planned;
  const [asked] = [...foreignActions(call), ...(reaches === undefined ? [] : [reaches])]
    .filter(({ action }) => action.kind !== 'show-to-group' || person.chatType !== 'direct')
    .flatMap(({ action, ...request }) => {
      const tainted = taintDecision({ taint: conversation.taint, action });
      return tainted.decision === 'ask' ? [{ ...request, reason: tainted.reason }] : [];
    });
  if (asked === undefined) {
    if (asks !== undefined) return { decision: 'ask', reason: asks.reason, request: asks };
    return { decision: 'allow', ...(allowedBy === undefined ? {} : { reason: allowedBy }) };
  }
  if (asks === undefined) return { decision: 'ask', reason: asked.reason, request: asked };
  const reason = sentences(asks.reason, asked.reason);
  // "always" is not offered in a conversation with untrusted content.
  const { always: _, ...request } = asks;
  const isWhole = call.tool.foreign === undefined || asks.detail.includes(asked.detail);
  const detail = isWhole ? asks.detail : `${asks.detail}\n${asked.detail}`;
  return { decision: 'ask', reason, request: { ...request, detail, reason } };
}

/** What a call of a tool that isn't built in may do. The question shows all arguments. */
function foreignActions({ tool: { name, foreign }, params }: CallOfTool): readonly DeclaredAction[] {
  if (foreign === undefined) return [];
  const request = { title: `Use the tool ${name}`, detail: callDetail(name, params) };
  const kinds = foreign.onlyReads ? (['show-to-group'] as const) : (['foreign-tool', 'show-to-group'] as const);
  return kinds.map((kind) => ({ action: { kind }, ...request }));
}

/** A call for a question: complete, with invisible characters spelled out. */
export function callDetail(name: string, params: CallOfTool['params']): string {
  return escapeControlChars(`${name}\n${JSON.stringify(params, null, 2)}`);
}

/** Always allowed: loading another skill, which adds its own limits. */
const FREE = new Set(['skill']);
/** Allowed for the files of an active skill. */
const READERS = new Set(['read_file', 'list_dir', 'glob', 'grep']);

/** Why the limits of the active skills refuse a call; null when they allow it. */
function refusedBySkills(tool: string, params: Readonly<Record<string, unknown>>, skills: ActiveSkills): string | null {
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

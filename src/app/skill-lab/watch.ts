import type { ModelRequest } from '../../core/providers/provider.ts';
import type { Skill } from '../../core/skills/skill.ts';
import { ownName } from '../../core/tools/registry/tool-table.ts';
import type { ToolResult } from '../../core/tools/tool.ts';
import type { HookSet } from '../../core/agent/hooks/hooks.ts';
import type { SeenCall } from './matching.ts';
import { NOT_DONE } from './trial-tools.ts';

/** A call of a trial and what came of it. */
export interface TrialCall extends SeenCall {
  /** What the model read; empty for a call that only said what it would do. */
  readonly output: string;
  readonly isError: boolean;
  /** What would have happened, such as `would be done`; null: it ran, or it was answered. */
  readonly instead: string | null;
}

/** Notes what a turn asks of the model and of tools. */
export function watch(skill: Skill) {
  const calls: { call: SeenCall; result: ToolResult | null }[] = [];
  const byCall = new WeakMap<object, (typeof calls)[number]>();
  let requests = 0;
  let activated = false;
  const opening = `<skill name="${skill.name}" `;
  const hooks: HookSet['hooks'] = {
    beforeModel: (_turn, { messages }) => {
      requests += 1;
      activated ||= messages.some((message) => isCalledIn(message, opening));
      return undefined;
    },
    beforeTool: (_turn, call) => {
      const note = { call: { tool: ownName(call.name), arguments: parsed(call.arguments) }, result: null };
      calls.push(note);
      byCall.set(call, note);
      return undefined;
    },
    afterTool: (_turn, call, result) => {
      const note = byCall.get(call);
      if (note !== undefined) note.result = result;
      activated ||= result.skill === skill.name || isReadOf(note?.call, skill);
      return undefined;
    },
  };
  return {
    hooks,
    calls: (): readonly TrialCall[] => calls.map(({ call, result }) => ({ ...call, ...outcomeOf(result) })),
    requests: () => requests,
    activated: () => activated,
  };
}

function outcomeOf(result: ToolResult | null): Omit<TrialCall, keyof SeenCall> {
  if (result === null) return { output: 'It did not end.', isError: true, instead: null };
  const instead = result.metadata[NOT_DONE];
  if (typeof instead === 'string') return { output: '', isError: false, instead };
  const output = [result.output, result.note ?? ''].filter((part) => part !== '').join('\n');
  return { output, isError: result.isError === true, instead: null };
}

/** Whether a message of the user brings the text of the skill. */
function isCalledIn(message: ModelRequest['messages'][number], opening: string): boolean {
  return message.role === 'user' && JSON.stringify(message.content).includes(JSON.stringify(opening).slice(1, -1));
}

/** Whether the call reads the skill's file as any other file. */
function isReadOf(call: SeenCall | undefined, { name }: Skill): boolean {
  return call?.tool === 'read_file' && JSON.stringify(call.arguments).includes(`${name}/SKILL.md`);
}

/** The arguments as JSON; what is no JSON as the text that it is. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

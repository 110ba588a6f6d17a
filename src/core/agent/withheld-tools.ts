import { apiFactsOf } from '../bus/api.ts';
import { editorFactsOf } from '../bus/editor.ts';
import type { InboundMessage } from '../bus/messages.ts';
import { runFactsOf } from '../bus/run.ts';
import type { ToolFacts } from '../tools/tool.ts';
import { isEphemeral } from '../util/ephemeral-session.ts';
import { subagentOf, withheldFromTask } from './subagents/task.ts';

/** Why the turn that answers this message may not call a tool; null: the usual rules decide. */
export function withheld(target: InboundMessage | undefined, tool: ToolFacts): string | null {
  const { name, withheldFrom = [] } = tool;
  const outsideRun = withheldFromRun(target, name);
  if (outsideRun !== null) return outsideRun;
  const task = subagentOf(target);
  if (task !== null) return withheldFromTask(task, tool);
  if (apiFactsOf(target)?.light === true) return 'this turn has no tools';
  if (editorFactsOf(target)?.readOnly === true && tool.onlyReads !== true)
    return `the owner made this conversation read-only in the editor, so ${name} cannot be used in it`;
  if (target === undefined || !isEphemeral(target.sessionKey) || !withheldFrom.includes('visit')) return null;
  return `this conversation is kept by a program and not by you, so ${name} cannot be used in it`;
}

/** Why the run that this message begins may not use a tool, in a turn or by a command; null: it may. */
export function withheldFromRun(target: InboundMessage | undefined, tool: string): string | null {
  return runFactsOf(target).tools?.includes(tool) === false ? `this run was given without the tool ${tool}` : null;
}

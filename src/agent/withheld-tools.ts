import { apiFactsOf } from '../bus/api.ts';
import { editorFactsOf } from '../bus/editor.ts';
import type { InboundMessage } from '../bus/messages.ts';
import { runFactsOf } from '../bus/run.ts';
import { isEphemeral } from '../util/ephemeral-session.ts';
import { subagentOf, withheldFrom } from './subagents/task.ts';

/** Tools that leave something behind, or wait for what comes later: a session of a day has neither. */
const LASTING: ReadonlySet<string> = new Set(['memory_write', 'tape', 'cron', 'spawn', 'ask_user']);

/** Tools that change nothing, for a conversation that its owner made read-only in an editor. */
const READING: ReadonlySet<string> = new Set([
  'read_file',
  'list_dir',
  'glob',
  'grep',
  'web_search',
  'web_fetch',
  'memory_search',
  'skill',
  'ask_user',
  'batch',
]);

/** Why the turn that answers this message may not call a tool; null: the usual rules decide. */
export function withheld(target: InboundMessage | undefined, tool: string): string | null {
  const outsideRun = withheldFromRun(target, tool);
  if (outsideRun !== null) return outsideRun;
  const task = subagentOf(target);
  if (task !== null) return withheldFrom(task, tool);
  if (apiFactsOf(target)?.light === true) return 'this turn has no tools';
  if (editorFactsOf(target)?.readOnly === true && !READING.has(tool))
    return `the owner made this conversation read-only in the editor, so ${tool} cannot be used in it`;
  if (target === undefined || !isEphemeral(target.sessionKey) || !LASTING.has(tool)) return null;
  return `this conversation is kept by a program and not by you, so ${tool} cannot be used in it`;
}

/** Why the run that this message begins may not use a tool, in a turn or by a command; null: it may. */
export function withheldFromRun(target: InboundMessage | undefined, tool: string): string | null {
  return runFactsOf(target).tools?.includes(tool) === false ? `this run was given without the tool ${tool}` : null;
}

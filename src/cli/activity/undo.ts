import type { CliContext } from '../../core/cli/context.ts';
import { confirm } from '../../core/cli/confirm.ts';
import { terminalText } from '../../core/cli/format.ts';
import { openAssistant } from '../../core/cli/open.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant undo TURN`. */
export async function undoCommand(
  {
    turn,
    dryRun,
    yes,
    home,
    json,
  }: OutputFlags & { readonly turn: string; readonly dryRun: boolean; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const plan = await assistant.port.call('undoTurn', { turn, dry: true });
  if (dryRun) {
    print(context, json, { facts: plan, lines: linesOf(plan), escape: terminalText });
    return 0;
  }
  if (!yes) print(context, false, { facts: plan, lines: linesOf(plan), escape: terminalText });
  if (!(await confirm(context, 'Undo it?', { yes }))) return 1;
  const undone = await assistant.port.call('undoTurn', { turn, dry: false });
  print(context, json, { facts: undone, lines: linesOf(undone), escape: terminalText });
  return 0;
}

/** Without the marks that chats show as code. */
function linesOf({ text }: { readonly text: string }): readonly string[] {
  return text.replaceAll('`', '').split('\n');
}

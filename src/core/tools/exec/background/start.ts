import { escapeControlChars } from '../../../security/text/control-characters.ts';
import { sleep, type Clock } from '../../../util/clock.ts';
import { oneLine } from '../../../util/text.ts';
import { withNotes } from '../result.ts';
import type { ToolContext, ToolResult } from '../../tool.ts';
import type { BackgroundProcesses } from './background-processes.ts';
import type { BackgroundCommand } from './process.ts';

/** How long it is looked at before it is left to itself: most mistakes show at once. */
const FIRST_LOOK_MS = 300;
/** Characters of what it wrote until then. */
const FIRST_CHARS = 4_000;

/** Starts a command in the background and returns its first output; ends it if the turn is stopped meanwhile. */
export async function startInBackground(
  command: BackgroundCommand,
  context: ToolContext,
  {
    processes,
    clock,
  }: { readonly processes: Pick<BackgroundProcesses, 'start' | 'seen' | 'kill'>; readonly clock: Clock },
): Promise<ToolResult> {
  const process = await processes.start(command, context);
  const begun = new AbortController();
  void process.done.then(() => begun.abort());
  await sleep(clock, FIRST_LOOK_MS, AbortSignal.any([begun.signal, context.signal])).catch(() => {});
  if (context.signal.aborted) {
    await processes.kill(process);
    context.signal.throwIfAborted();
  }
  const { text, more } = await process.page(undefined, FIRST_CHARS);
  const isOver = process.end !== null;
  if (isOver) await processes.seen(process);
  const { id, path, durationMs, bits } = process;
  const notes = isOver
    ? [
        ...process.endNotes,
        ...(more > 0 ? [`The tool process with the action poll and the id ${id} shows the rest.`] : []),
      ]
    : [
        `It runs in the background as ${id}. You are told when it ends, so do not wait for it. The tool process shows its output, writes to its input and ends it. Its output is also in the file ${path}.`,
      ];
  const code = process.end?.type === 'exited' ? process.end.outcome.exitCode : null;
  return {
    title: oneLine(`${isOver ? 'ran' : 'started'} ${escapeControlChars(command.command)}`, 80),
    output: withNotes(text, notes),
    metadata: isOver ? { process: id, exitCode: code, durationMs } : { process: id, state: 'running' },
    ...(process.isFailed ? { isError: true } : {}),
    ...bits,
  };
}

import type { BackgroundProcess } from './process.ts';
import type { ProcessRecord } from './records.ts';

/** Wakes a session when a command has ended. */
export function endedText({ id, command, output }: ProcessRecord, process: BackgroundProcess): string {
  const { durationMs, bytes, endNotes } = process;
  return [
    `The command that you started in the background as ${id} has ended, after ${Math.round(durationMs / 1000)} s: ${quoted(command)}`,
    endNotes.join(' '),
    bytes === 0
      ? 'It wrote nothing.'
      : `It wrote ${bytes} bytes; the tool process with the action poll shows them, and so does read_file with the path ${output}.`,
    'Tell the person what came of it, or go on with what waited for it.',
  ].join('\n');
}

/** Wakes a session when a command ended with the assistant's process. */
export function lostText({ id, command, output }: ProcessRecord): string {
  return [
    `The command that you started in the background as ${id} is gone: the process of the assistant stopped while it ran, and it was ended with it: ${quoted(command)}`,
    `Whether it had done its work is not known. What it wrote until then is in ${output} (read_file).`,
    'Tell the person, or start it again if that is safe and still wanted.',
  ].join('\n');
}

function quoted(command: string): string {
  return `\`${command.replaceAll('`', "'")}\``;
}

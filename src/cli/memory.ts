import type { MemoryVersion } from '../gateway/requests.ts';
import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, terminalText } from './format.ts';
import { assistantCommand } from '../util/assistant-command.ts';

type Flags = Readonly<Record<string, unknown>>;

/** `assistant memory [show [VERSION]]`. */
export async function memoryShowCommand(flags: Flags, context: CliContext, [id]: readonly string[]): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const view = await assistant.port.request('memoryShow', id === undefined ? {} : { id });
  const text = view.text === '' ? 'Nothing is remembered yet.' : view.text.replace(/\n$/u, '');
  print(context, flags, view, [text]);
  return 0;
}

/** `assistant memory log`. */
export async function memoryLogCommand(flags: Flags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const versions = await assistant.port.request('memoryLog', {});
  print(context, flags, versions, versions.length === 0 ? ['There are no earlier versions.'] : versions.map(row));
  return 0;
}

/** `assistant memory restore VERSION`. */
export async function memoryRestoreCommand(
  flags: Flags,
  context: CliContext,
  [id = '']: readonly string[],
): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const restored = await assistant.port.request('memoryRestore', { id });
  print(context, flags, { restored }, [
    `The memory is again as in version ${restored.id}. To see what it was before, run: ${assistantCommand('memory log')}`,
  ]);
  return 0;
}

function row({ id, at, size, kind, reason }: MemoryVersion): string {
  const when = new Date(at).toISOString().slice(0, 16).replace('T', ' ');
  const what = kind === 'proposed' ? `not taken over: ${reason}` : `until ${reason}`;
  return `${id}  ${when} UTC  ${String(size).padStart(7)} bytes  ${what}`;
}

function print(context: CliContext, flags: Flags, facts: object, lines: readonly string[]): void {
  const text = flags['json'] === true ? json(facts) : terminalText(lines.join('\n'));
  context.stdout.write(`${text}\n`);
}

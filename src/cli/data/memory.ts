import { assistantCommand } from '../../util/assistant-command.ts';
import { versionLine } from '../../util/version-line.ts';
import type { CliContext } from '../context.ts';
import { printFound } from './found.ts';
import { openAssistant } from '../open.ts';
import { terminalText } from '../format.ts';
import { print } from '../print.ts';
import type { OutputFlags } from '../table/command.ts';

/** `assistant memory [show [VERSION]]`. */
export async function memoryShowCommand(
  { version, home, json }: OutputFlags & { readonly version: string | undefined },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const view = await assistant.port.request('memoryShow', version === undefined ? {} : { id: version });
  const text = view.text === '' ? 'Nothing is remembered yet.' : view.text.replace(/\n$/u, '');
  print(context, json, { facts: view, lines: [text], escape: terminalText });
  return 0;
}

/** `assistant memory search TEXT`. */
export async function memorySearchCommand(
  flags: OutputFlags & { readonly text: string; readonly last: number },
  context: CliContext,
): Promise<number> {
  return await printFound({ ...flags, where: { session: null } }, context);
}

/** `assistant memory log`. */
export async function memoryLogCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const versions = await assistant.port.request('memoryLog', {});
  const lines = versions.map(versionLine);
  print(context, json, { facts: versions, lines, nothing: 'There are no earlier versions.', escape: terminalText });
  return 0;
}

/** `assistant memory restore VERSION`. */
export async function memoryRestoreCommand(
  { version, home, json }: OutputFlags & { readonly version: string },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const restored = await assistant.port.request('memoryRestore', { id: version });
  const lines = [
    `The memory is restored to version ${restored.id}. To list all versions, run: ${assistantCommand('memory log')}`,
  ];
  print(context, json, { facts: { restored }, lines, escape: terminalText });
  return 0;
}

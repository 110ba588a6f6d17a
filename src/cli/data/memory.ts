import { assistantCommand } from '../../core/util/assistant-command.ts';
import { versionLine } from '../../core/util/version-line.ts';
import type { CliContext } from '../../core/cli/context.ts';
import type { Forgetting } from '../../core/gateway/operations/memory.ts';
import { confirm } from '../../core/cli/confirm.ts';
import { printFound } from './found.ts';
import { openAssistant, zoneOf } from '../open.ts';
import { terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant memory [show [VERSION]]`. */
export async function memoryShowCommand(
  { version, home, json }: OutputFlags & { readonly version: string | undefined },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const view = await assistant.port.call('memoryShow', version === undefined ? {} : { id: version });
  const text = view.text === '' ? 'Nothing is remembered yet.' : view.text.replace(/\n$/u, '');
  print(context, json, { facts: view, lines: [text], escape: terminalText });
  return 0;
}

/** `assistant memory facts [--past]`. */
export async function memoryFactsCommand(
  { past, home, json }: OutputFlags & { readonly past: boolean },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const facts = await assistant.port.call('memoryFacts', { past });
  const lines = facts.map(
    ({ fact, source, ended }) => `${fact}\n    ${ended === null ? source : `${source}; ${ended.text}`}`,
  );
  const nothing = past ? 'Nothing was replaced or removed yet.' : 'Nothing is remembered yet.';
  print(context, json, { facts, lines, nothing, escape: terminalText });
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
  const versions = await assistant.port.call('memoryLog', {});
  const zone = await zoneOf(context, home);
  const lines = versions.map((version) => versionLine(version, zone));
  print(context, json, { facts: versions, lines, nothing: 'There are no earlier versions.', escape: terminalText });
  return 0;
}

/** `assistant memory restore VERSION`. */
export async function memoryRestoreCommand(
  { version, home, json }: OutputFlags & { readonly version: string },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const restored = await assistant.port.call('memoryRestore', { id: version });
  const lines = [
    `The memory is restored to version ${restored.id}. To list all versions, run: ${assistantCommand('memory log')}`,
  ];
  print(context, json, { facts: { restored }, lines, escape: terminalText });
  return 0;
}

/** `assistant memory forget WORDS`. */
export async function memoryForgetCommand(
  { words, yes, home, json }: OutputFlags & { readonly words: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  let state: Forgetting['state'];
  {
    await using assistant = await openAssistant(context, home);
    const found = await assistant.port.call('memoryForget', { words });
    if (Object.keys(found.files).length === 0 && found.rows === 0) {
      const nothing = 'Nothing that is kept has all of these words in one line.';
      print(context, json, { facts: found, lines: [nothing], escape: terminalText });
      return 0;
    }
    for (const line of found.shown.split('\n')) context.stderr.write(`${terminalText(line)}\n`);
    if (!(await confirm(context, 'Erase all of it for good?', { yes }))) return 1;
    ({ state } = await assistant.port.call('memoryForget', { words, erase: true }));
    if (state === 'later' && assistant.attached)
      return said(context, json, 'It is erased when the assistant starts the next time.');
  }
  if (state === 'restarts') return said(context, json, 'The assistant starts anew and erases it.');
  // The assistant of this process has ended; one that starts erases it.
  await using _erased = await openAssistant(context, home);
  return said(context, json, 'It is erased, and cannot be brought back.');
}

function said(context: CliContext, json: boolean, line: string): number {
  print(context, json, { facts: { done: line }, lines: [line], escape: terminalText });
  return 0;
}

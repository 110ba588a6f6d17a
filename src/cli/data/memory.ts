import { assistantCommand } from '../../core/util/assistant-command.ts';
import { versionLine } from '../../core/util/version-line.ts';
import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import type { Showing, Shown } from '../../core/cli/asking.ts';
import type { CliContext } from '../../core/cli/context.ts';
import type { Forgetting } from '../../core/gateway/operations/memory.ts';
import { confirm } from '../../core/cli/confirm.ts';
import { openAssistant } from '../../core/cli/open.ts';
import { terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant memory [show [VERSION]]`. */
export function memoryLines({ text }: RequestResult<'memoryShow'>): Shown {
  return { lines: [text === '' ? 'Nothing is remembered yet.' : text.replace(/\n$/u, '')], escape: terminalText };
}

/** `assistant memory facts [--past]`. */
export function factLines(
  facts: RequestResult<'memoryFacts'>,
  { given: { past } }: Showing<{ readonly past: boolean }>,
): Shown {
  const nothing = past ? 'Nothing was replaced or removed yet.' : 'Nothing is remembered yet.';
  const lines = facts.map(
    ({ fact, source, ended }) => `${fact}\n    ${ended === null ? source : `${source}; ${ended.text}`}`,
  );
  return { lines: lines.length === 0 ? [nothing] : lines, escape: terminalText };
}

/** `assistant memory log`. */
export function versionLines(versions: RequestResult<'memoryLog'>, { zone }: Showing<unknown>): Shown {
  return { lines: versions.map((version) => versionLine(version, zone)), escape: terminalText };
}

/** `assistant memory restore VERSION`. */
export function restoredLines(restored: RequestResult<'memoryRestore'>): Shown {
  const list = assistantCommand('memory log');
  const line = `The memory is restored to version ${restored.id}. To list all versions, run: ${list}`;
  return { facts: { restored }, lines: [line], escape: terminalText };
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

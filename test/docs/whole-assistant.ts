import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';
import { CommandTable } from '../../src/core/agent/commands/table.ts';
import { createAssistant } from '../../src/app.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { tempFolder } from '../support/temp.ts';

/** The registry and the chat commands of an assistant that was composed as always, with every setting at its default. */
export interface WholeAssistant extends AsyncDisposable {
  readonly registry: ToolRegistry;
  readonly commands: CommandTable;
}

/** Starts an assistant with the demo in a home of its own. Throws if it has no registry or no commands. */
export async function startWholeAssistant(): Promise<WholeAssistant> {
  using register = vi.spyOn(ToolRegistry.prototype, 'register');
  using of = vi.spyOn(CommandTable.prototype, 'of');
  await using stack = new AsyncDisposableStack();
  const { path: home } = stack.use(await tempFolder());
  const environment = { PATH: process.env['PATH'], HOME: home };
  const assistant = stack.use(await createAssistant({ home, environment, log: silentLog }));
  await writeFile(join(home, 'workspace', 'notes.md'), 'notes');
  await assistant.run('/help');
  const [registry] = register.mock.contexts;
  const [commands] = of.mock.contexts;
  if (!(registry instanceof ToolRegistry) || !(commands instanceof CommandTable))
    throw new Error('nothing was composed');
  const owned = stack.move();
  return { registry, commands, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

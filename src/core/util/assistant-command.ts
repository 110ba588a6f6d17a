import { AsyncLocalStorage } from 'node:async_hooks';
import { shellWord } from './text.ts';

/** Whether this is the source of a clone, which has no `assistant` on the PATH. */
const isClone = import.meta.url.endsWith('.ts');

const homeOfCommandLine = new AsyncLocalStorage<string | undefined>();

/** Runs `work` so that every command it suggests names this home, because the person's own command line did. */
export function suggestingHome<T>(home: string | undefined, work: () => T): T {
  return homeOfCommandLine.run(home, work);
}

/**
 * The command line that runs a command of this assistant, as it was installed: `assistant chat`, and in a clone, where
 * nothing puts `assistant` on the PATH, `npm run chat`. `command` is what follows `assistant`; empty: nothing.
 */
export function assistantCommand(command: string, { clone = isClone }: { readonly clone?: boolean } = {}): string {
  const home = command === '' || command.includes('--home') ? undefined : homeOfCommandLine.getStore();
  const words = home === undefined ? command : `${command} --home ${shellWord(home)}`;
  if (!clone) return `assistant ${words}`.trim();
  const [, name = '', rest = ''] = /^(\S*)\s*(.*)$/su.exec(words) ?? [];
  const scripts: Readonly<Record<string, string>> = { gateway: 'npm start', chat: 'npm run chat' };
  const script = scripts[name];
  if (script === undefined) return `npm run assistant -- ${words}`.trim();
  return rest === '' ? script : `${script} -- ${rest}`;
}

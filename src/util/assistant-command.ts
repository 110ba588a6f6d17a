import { shellWord } from './text.ts';

/** Whether this is the source of a clone, which has no `assistant` on the PATH. */
const isClone = import.meta.url.endsWith('.ts');

let namedHome: string | undefined;

/** Makes every suggested command name this home, because the person's own command line did, until it is disposed. */
export function nameHomeInCommands(home: string | undefined): Disposable {
  const before = namedHome;
  namedHome = home;
  return {
    [Symbol.dispose]: () => {
      namedHome = before;
    },
  };
}

/**
 * The command line that runs a command of this assistant, as it was installed: `assistant chat`, and in a clone, where
 * nothing puts `assistant` on the PATH, `npm run chat`. `command` is what follows `assistant`; empty: nothing.
 */
export function assistantCommand(command: string, { clone = isClone }: { readonly clone?: boolean } = {}): string {
  const names = namedHome !== undefined && command !== '' && !command.includes('--home');
  const words = names ? `${command} --home ${shellWord(namedHome ?? '')}` : command;
  if (!clone) return `assistant ${words}`.trim();
  const [, name = '', rest = ''] = /^(\S*)\s*(.*)$/su.exec(words) ?? [];
  const scripts: Readonly<Record<string, string>> = { gateway: 'npm start', chat: 'npm run chat' };
  const script = scripts[name];
  if (script === undefined) return `npm run assistant -- ${words}`.trim();
  return rest === '' ? script : `${script} -- ${rest}`;
}

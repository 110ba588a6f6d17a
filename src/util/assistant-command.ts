/** Whether this is the source of a clone, which has no `assistant` on the PATH. */
const isClone = import.meta.url.endsWith('.ts');

/**
 * The command line that runs a command of this assistant, as it was installed: `assistant chat`, and in a clone, where
 * nothing puts `assistant` on the PATH, `npm run chat`. `words` is what stands behind `assistant`; empty: nothing.
 */
export function assistantCommand(words: string, { clone = isClone }: { readonly clone?: boolean } = {}): string {
  if (!clone) return `assistant ${words}`.trim();
  const [, command = '', rest = ''] = /^(\S*)\s*(.*)$/su.exec(words) ?? [];
  const scripts: Readonly<Record<string, string>> = { gateway: 'npm start', chat: 'npm run chat' };
  const script = scripts[command];
  if (script === undefined) return `npm run assistant -- ${words}`.trim();
  return rest === '' ? script : `${script} -- ${rest}`;
}

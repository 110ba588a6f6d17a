import { initHome } from '../config/init.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { pathsOf } from './open.ts';
import { terminalText } from './format.ts';

/** `assistant init`: makes what is missing of a home and says what it did. */
export async function initCommand(flags: Readonly<Record<string, unknown>>, context: CliContext): Promise<number> {
  const paths = pathsOf(context, textFlag(flags, 'home'));
  const { created, kept } = await initHome(paths);
  const lines = [
    created.length === 0 ? `${paths.home} is already set up; nothing was changed.` : `Made in ${paths.home}:`,
    ...created.map((name) => `  ${name}`),
    ...(kept.length === 0 || created.length === 0 ? [] : [`Left as they are: ${kept.join(', ')}`]),
    `Settings: ${paths.config}`,
    `Talk to it with: ${assistantCommand('chat')}`,
  ];
  context.stdout.write(`${terminalText(lines.join('\n'))}\n`);
  return 0;
}

import { CommandLine } from './command-line.ts';

export const CTRL_C = '\u0003';
export const CTRL_D = '\u0004';

/** `assistant chat` in a terminal, as soon as it asks for a message. */
export async function converse(
  argv: readonly string[] = [],
  options: Omit<NonNullable<ConstructorParameters<typeof CommandLine>[0]>, 'terminal'> = {},
): Promise<{ readonly line: CommandLine; readonly ended: Promise<number> }> {
  const line = new CommandLine({ terminal: true, ...options });
  const ended = line.run('chat', ...argv);
  await line.shows('you ›');
  return { line, ended };
}

/** Ends a conversation and checks that it ended well. */
export async function leave(line: CommandLine, ended: Promise<number>): Promise<void> {
  line.type(CTRL_D);
  const code = await ended;
  if (code !== 0) throw new Error(`the conversation ended with ${code}`);
}

import { createInterface } from 'node:readline/promises';
import { AppError } from '../util/errors.ts';
import type { CliContext } from './context.ts';
import { terminalText } from './format.ts';

/**
 * Asks a person at this terminal; only `y` and `yes` are a yes. With `--yes` nobody is asked. Throws where there is no
 * terminal: silence is no yes.
 */
export async function confirm(
  context: Pick<CliContext, 'stdin' | 'stdout'>,
  question: string,
  options: { readonly yes: boolean },
): Promise<boolean> {
  if (options.yes) return true;
  if (context.stdin.isTTY !== true || context.stdout.isTTY !== true) {
    throw new AppError(
      'nobody-to-ask',
      `There is no terminal to ask at, so nothing was done. The question is: ${question} To say yes to it, add --yes to the command.`,
    );
  }
  const lines = createInterface({ input: context.stdin, output: context.stdout });
  try {
    // Ctrl-D and Ctrl-C close it without an answer.
    const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    const answer = await Promise.race([lines.question(`${terminalText(question)} [y/N] `), closed]);
    return /^\s*y(?:es)?\s*$/iu.test(answer);
  } finally {
    lines.close();
  }
}

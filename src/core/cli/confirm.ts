import { createInterface } from 'node:readline/promises';
import { AppError } from '../util/errors.ts';
import type { CliContext } from './context.ts';
import { terminalText } from './format.ts';

/**
 * Asks a person at this terminal; only `y` and `yes` are a yes. With `--yes` no one is asked. Throws where there is no
 * terminal: silence is no yes.
 */
export async function confirm(
  context: Pick<CliContext, 'stdin' | 'stdout'>,
  question: string,
  options: { readonly yes: boolean },
): Promise<boolean> {
  return options.yes || /^\s*y(?:es)?\s*$/iu.test(await asked(context, question, '[y/N]'));
}

/** The same for what cannot be undone: only these words, typed whole, are a yes. */
export async function confirmByWords(
  context: Pick<CliContext, 'stdin' | 'stdout'>,
  question: string,
  { words, yes }: { readonly words: string; readonly yes: boolean },
): Promise<boolean> {
  return yes || (await asked(context, question, '>')).trim() === words;
}

async function asked(context: Pick<CliContext, 'stdin' | 'stdout'>, question: string, prompt: string): Promise<string> {
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
    return await Promise.race([lines.question(`${terminalText(question)} ${prompt} `), closed]);
  } finally {
    lines.close();
  }
}

import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { pathsOf } from '../../core/cli/open.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant page`: a link that opens the page of the running assistant. */
export async function pageCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  const paths = pathsOf(context, home);
  const running = await context.connect(paths.socket);
  if (running === undefined) {
    throw new AppError(
      'not-running',
      `No assistant runs in ${paths.home}. Start it with: ${assistantCommand('gateway')}`,
    );
  }
  await using assistant = running;
  const facts = await assistant.call('pageLink', {});
  const note = 'It lets in whoever opens it, once, within ten minutes. Keep it to yourself.';
  // A link that was broken over two lines could not be opened.
  print(context, json, { facts, lines: [facts.link, note] });
  return 0;
}

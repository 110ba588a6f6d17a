import type { Given } from '../setup/setup.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import type { CliContext } from './context.ts';
import { pathsOf } from './open.ts';
import { terminalText } from './format.ts';
import type { HomeFlag } from './table/command.ts';
import { usageError } from './usage.ts';

const INTERRUPTED = 130;

/** `assistant init`: asks for model, key and time zone, tries the model, and writes settings and workspace. */
export async function initCommand(
  { home, yes, ...given }: HomeFlag & Given & { readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  const paths = pathsOf(context, home);
  if (!yes && (context.stdin.isTTY !== true || context.stdout.isTTY !== true)) {
    throw usageError(
      `There is no terminal to ask in. Give the answers: ${assistantCommand('init')} --yes --provider anthropic --key-env ANTHROPIC_API_KEY (or --provider demo).`,
    );
  }
  const { Cancelled, sandboxSentence, setUp, setUpChannel, terminalAsker } = await import('../setup/setup.ts');
  const stopped = new AbortController();
  using _signals = context.onSignal(() => stopped.abort());
  const line = (words: string): void => void context.stdout.write(`${terminalText(words)}\n`);
  const person = yes ? null : terminalAsker(context, terminalText);
  const tell = person ?? { say: line, good: line, bad: line };
  const world = { paths, env: context.env, clock: context.clock, person, tell, signal: stopped.signal };
  person?.title(`Setting up the assistant in ${terminalText(paths.home)}`);
  const show = (written: readonly string[]): void => {
    const lines = [`Written in ${paths.home}:`, ...written.map((name) => `  ${name}`)];
    tell.good(written.length === 0 ? `${paths.home} is already set up; nothing was changed.` : lines.join('\n'));
  };
  let stop = 'Stopped. Nothing was written.';
  try {
    show((await setUp(world, given)).written);
    stop = 'Stopped. What was written before stays; of the chat platform nothing was written.';
    const channel = await setUpChannel(world, given);
    if (channel !== undefined) show(channel.written);
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    line(stop);
    return INTERRUPTED;
  }
  tell.say(await sandboxSentence(world));
  await using running = await context.connect(paths.socket);
  const next =
    running === undefined
      ? `Talk to it with: ${assistantCommand('chat')}`
      : 'The assistant that is running takes this up when it is restarted (/restart in a chat).';
  if (person === null) line(next);
  else person.end(next);
  return 0;
}

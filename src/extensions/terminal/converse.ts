import {
  loadConfig,
  type CliContext,
  terminalText,
  openAssistant,
  pathsOf,
  type HomeFlag,
} from '../../core/api-cli.ts';
import {
  type Conversation,
  type AssistantPort,
  isDumb,
  wrapped,
  ReconnectingAssistant,
} from '../../core/api-terminal.ts';
import { talk, type TalkOptions } from './talk.ts';
import { openHistory } from './open-history.ts';

interface ConverseFlags extends HomeFlag {
  readonly session: string;
  readonly model: string | undefined;
  /** Absolute paths. */
  readonly image: readonly string[];
  readonly plain: boolean;
}

/** A conversation in this terminal; /setup sets the assistant up in between. */
export async function converse(
  { session, model, image: images, home, plain: wantsPlain }: ConverseFlags,
  context: CliContext,
): Promise<number> {
  let setsUp = false;
  {
    await using assistant = await openAssistant(context, home, { log: 'configured' });
    const paths = pathsOf(context, home);
    const ended = new AbortController();
    const interrupts = new EventTarget();
    const plain = wantsPlain || isDumb(context.env);
    // On a terminal that is drawn on, Ctrl-C is a key.
    using _signals = context.onSignal((signal) => {
      if (plain && signal === 'SIGINT') interrupts.dispatchEvent(new Event('interrupt'));
      else ended.abort();
    });
    await using history = await openHistory(
      paths,
      (await loadConfig({ program: context.program, home: paths.home, env: context.env })).secrets,
    );
    context.stdout.write(wrapped(await greeting(assistant.port, assistant.attached, session), context.stdout));
    const options = {
      session,
      model,
      images,
      signal: ended.signal,
      interrupts,
      workspace: paths.workspace,
      history,
      plain,
      onSetup: () => void (setsUp = true),
    };
    if (assistant.attached) {
      await using running = new ReconnectingAssistant(assistant.port, {
        clock: context.clock,
        connect: () => context.connect(paths.socket),
      });
      for (;;) {
        setsUp = false;
        const watch: TalkOptions['watch'] = (watcher) => running.watch(watcher);
        const code = await talk(context, { ...options, assistant: running, watch });
        if (!setsUp) return code;
        await (await import('../../core/api-setup.ts')).setUpRunning(home, { context, assistant: running, session });
      }
    }
    const code = await talk(context, { ...options, assistant: assistant.port });
    if (!setsUp) return code;
  }
  return await (await import('../../core/api-setup.ts')).setUpHere({ home }, context);
}

/** The conversation in the terminal of a gateway. */
export async function converseHere(
  context: CliContext,
  { paths, secrets, platforms, ...options }: Conversation,
): Promise<void> {
  context.stdout.write(wrapped(await greeting(options.assistant, false, 'main'), context.stdout));
  if (platforms.length > 0)
    context.stdout.write(wrapped(`It answers on ${platforms.join(', ')} too, until you end this.`, context.stdout));
  await using history = await openHistory(paths, secrets);
  await talk(context, { ...options, session: 'main', workspace: paths.workspace, history });
}

/** The first line of a conversation. */
async function greeting(assistant: AssistantPort, attached: boolean, session: string): Promise<string> {
  const { model } = await assistant.call('info', {});
  const where = attached ? 'the running gateway' : 'this terminal';
  const which = session === 'main' ? '' : `, conversation "${terminalText(session)}"`;
  return `Talking with ${terminalText(model)} in ${where}${which}. /help shows commands, Ctrl-D ends.`;
}

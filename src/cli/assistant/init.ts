import type { AssistantPort } from '../../core/gateway/assistant-port.ts';
import type { Given, SetupWorld } from '../../setup/setup.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { errorMessage } from '../../core/util/errors.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { pathsOf, programOfHome } from '../../core/cli/open.ts';
import { chooseRunning, type Running } from './init-running.ts';
import { terminalText } from '../../core/cli/format.ts';
import type { HomeFlag } from '../../core/cli/command.ts';
import { usageError } from '../../core/cli/usage.ts';
import { setupOptions } from '../../core/setup/platform.ts';
import { wholeTrial } from './whole-trial.ts';

const INTERRUPTED = 130;

type InitFlags = HomeFlag & Given & { readonly yes: boolean; readonly service: boolean; readonly copyKeys: boolean };

/** `assistant init`: asks for what is missing, tries it, writes it, and starts the assistant where the person wants it. */
export async function initCommand(given: Omit<InitFlags, 'ofChannels'>, context: CliContext): Promise<number> {
  const names = context.program.extensions.flatMap(({ channels = [] }) =>
    channels.flatMap((channel) => Object.keys(setupOptions(channel))),
  );
  const ofChannels = Object.fromEntries(names.map((name) => [name, Reflect.get(given, name) as string | undefined]));
  const flags: InitFlags = { ...given, ofChannels };
  if (!flags.yes && (context.stdin.isTTY !== true || context.stdout.isTTY !== true)) {
    throw usageError(
      `There is no terminal to ask in. Give the answers: ${assistantCommand('init')} --yes --provider anthropic --key-env ANTHROPIC_API_KEY (or --provider demo).`,
    );
  }
  const result = await setUpAll(flags, { context, isConversation: false });
  if (result?.running === 'here') context.restart(gatewayWords(flags.home));
  return result === null ? INTERRUPTED : 0;
}

/**
 * Sets up from within a conversation in this terminal, then restarts this process with a conversation: with the assistant
 * that was set up, or as before if the person stopped. The conversation has to be over.
 */
export async function setUpHere(
  { home, port }: { readonly home: string | undefined; readonly port?: number },
  context: CliContext,
): Promise<number> {
  const running = (await setUpBetween(home, context))?.running;
  const chat = ['chat', ...(home === undefined ? [] : ['--home', home])];
  context.restart(running === 'service' ? chat : running === 'here' ? gatewayWords(home, port) : undefined);
  return 0;
}

/** Sets up from within a conversation with an assistant in another process, which restarts if something changed. */
export async function setUpRunning(
  home: string | undefined,
  {
    context,
    assistant,
    session,
  }: { readonly context: CliContext; readonly assistant: AssistantPort; readonly session: string },
): Promise<void> {
  const result = await setUpBetween(home, context);
  if (result?.hasChanged !== true) return;
  using conversation = assistant.open(session);
  const { text } = await conversation.send({ text: '/restart' });
  context.stdout.write(`${terminalText(text)}\n`);
}

/** Prints an error instead of throwing it, so that the conversation continues. */
async function setUpBetween(home: string | undefined, context: CliContext): Promise<Result | null> {
  try {
    return await setUpAll({ ...NOTHING_GIVEN, home }, { context, isConversation: true });
  } catch (error) {
    context.stderr.write(`${terminalText(errorMessage(error))}\n`);
    return null;
  }
}

const NOTHING_GIVEN = {
  yes: false,
  service: false,
  copyKeys: false,
  provider: undefined,
  model: undefined,
  keyEnv: undefined,
  baseUrl: undefined,
  timezone: undefined,
  noCheck: false,
  ofChannels: {},
} as const satisfies Omit<InitFlags, 'home'>;

/** The arguments of a gateway with a conversation in this terminal. */
function gatewayWords(home: string | undefined, port?: number): readonly string[] {
  const flags = { ...(home === undefined ? {} : { home }), ...(port === undefined ? {} : { port }) };
  return ['gateway', '--talk', ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])];
}

interface Result {
  readonly running: Running;
  readonly hasChanged: boolean;
}

/** The files as a person is told of them: those of the workspace as one line. */
function shortened(files: readonly string[]): readonly string[] {
  const inside = files.filter((name) => name.startsWith('workspace/'));
  if (inside.length < 2) return files;
  return [...files.filter((name) => !inside.includes(name)), `workspace/ (${inside.length} files)`];
}

/** Null: the person stopped it, and was told what was written. */
async function setUpAll(
  { home, yes, service, copyKeys, ...given }: InitFlags,
  { context, isConversation }: { readonly context: CliContext; readonly isConversation: boolean },
): Promise<Result | null> {
  const paths = pathsOf(context, home);
  const { Cancelled, choosePart, hasChannel, sandboxSentence, setUp, setUpChannel, terminalAsker, voiceSentence } =
    await import('../../setup/setup.ts');
  const stopped = new AbortController();
  using _signals = context.onSignal(() => stopped.abort());
  const line = (words: string): void => void context.stdout.write(`${terminalText(words)}\n`);
  const person = yes ? null : terminalAsker(context, terminalText);
  const tell = person ?? { say: line, good: line, bad: line };
  const { env, clock } = context;
  const program = await programOfHome(context, paths);
  const kinds = program.extensions.flatMap(({ channels = [] }) => channels);
  const tryWhole = wholeTrial(context);
  const world: SetupWorld = { program, kinds, paths, env, clock, person, tell, tryWhole, signal: stopped.signal };
  person?.title(`Setting up the assistant in ${terminalText(paths.home)}`);
  let hasChanged = false;
  const show = (written: readonly string[]): void => {
    hasChanged ||= written.length > 0;
    const lines = [`Written in ${paths.home}:`, ...shortened(written).map((name) => `  ${name}`)];
    tell.good(written.length === 0 ? `${paths.home} is already set up; nothing was changed.` : lines.join('\n'));
  };
  let stop = 'Stopped. Nothing was written.';
  try {
    const part = await choosePart(world, given);
    if (part !== 'channel') show((await setUp(world, given, part)).written);
    if (part === 'all') {
      stop = 'Stopped. What was written before stays; of the chat platform nothing was written.';
      tell.say(await sandboxSentence(world));
      const voice = await voiceSentence(world);
      if (voice !== null) tell.say(voice);
    }
    const channel = part === 'all' || part === 'channel' ? await setUpChannel(world, given) : undefined;
    if (channel !== undefined) show(channel.written);
    stop = 'Stopped. What was written stays.';
    await using assistant = await context.connect(paths.socket);
    const running = await chooseRunning(
      { world, host: context.host, hasChannel: await hasChannel(world), isRunning: assistant !== undefined },
      { service, copyKeys, isConversation },
    );
    const end = endOf(running, { hasChanged, isConversation });
    if (person === null) line(end);
    else person.end(end);
    return { running, hasChanged };
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    line(stop);
    return null;
  }
}

function endOf(
  running: Running,
  { hasChanged, isConversation }: { readonly hasChanged: boolean; readonly isConversation: boolean },
): string {
  switch (running) {
    case 'running':
      if (!hasChanged) return 'The assistant is running.';
      if (isConversation) return 'Restarting the assistant with it …';
      return 'The assistant that is running takes this up by itself; a new time zone needs a restart (/restart in a chat).';
    case 'service':
      return `It is running. In a terminal you reach it with: ${assistantCommand('chat')}`;
    case 'here':
      return 'Starting …';
    case 'later':
      return `Start it with: ${assistantCommand('gateway')}`;
  }
}

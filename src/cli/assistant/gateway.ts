import type { Assistant } from '../../app.ts';
import { confirmProgram, leftVersion } from '../../backup/programs.ts';
import { enabledChannels } from '../../core/config/channels.ts';
import { machineOf } from '../../core/config/hosted-home.ts';
import { loadConfig } from '../../core/config/load.ts';
import { readVersion } from '../../core/config/version.ts';
import { deadline, raceAbort } from '../../core/util/clock.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { isOn } from '../../core/program.ts';
import { usageError } from '../../core/cli/usage.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import { isOwnersChannel } from '../../core/util/owners-channels.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { pathsOf, startAssistant } from '../../core/cli/open.ts';
import { escapeInvisible } from '../../core/cli/format.ts';
import type { HomeFlag } from '../../core/cli/command.ts';
import { isDumb, wrapped } from '../../core/cli/look.ts';
import { openNotifier } from '../../service/notify.ts';
import { startWatchdog } from '../../service/watchdog.ts';

/** SIGTERM ends the process within 10 seconds. */
const STOP_MS = 9_500;
/** A program that an upgrade installed is no longer on trial after this many milliseconds. */
const CONFIRM_MS = 30_000;

type GatewayFlags = HomeFlag & { readonly port: number | undefined; readonly talk: boolean; readonly plain: boolean };

/** `assistant gateway`: runs until SIGTERM or SIGINT; without a chat platform, and with `--talk`, it talks in this terminal too. */
export async function gatewayCommand(
  { home, port, talk: wantsTalk, plain }: GatewayFlags,
  context: CliContext,
): Promise<number> {
  const paths = pathsOf(context, home);
  if (paths.host !== null && machineOf(paths.home) === null) {
    throw new AppError(
      'further-assistant',
      `${paths.home} is the home of a further assistant, which runs in the process of the main one (${paths.host}). Start that: ${assistantCommand('gateway')}`,
    );
  }
  const ended = new AbortController();
  let restarts = false;
  let setsUp = false;
  const interrupts = new EventTarget();
  const printsOnly = plain || isDumb(context.env);
  let talksPlainly = false;
  using _signals = context.onSignal((signal) => {
    if (talksPlainly && signal === 'SIGINT') return void interrupts.dispatchEvent(new Event('interrupt'));
    if (ended.signal.aborted) context.exitNow(signal === 'SIGINT' ? 130 : 143);
    ended.abort();
  });
  let tell = (sentence: string): void => void context.stderr.write(`⚠ ${sentence}\n`);
  using watchdog = startWatchdog({
    notifier: openNotifier({ env: context.env, pid: process.pid, onFailure: (sentence) => tell(sentence) }),
    clock: context.clock,
    onSilence: (reason) => tell(`watchdog: no sign of life: ${reason}`),
  });
  const isTerminal = context.stdin.isTTY === true && context.stdout.isTTY === true;
  // The start reads it too: a service has no use for it before.
  const loaded = isTerminal ? await loadConfig({ program: context.program, home: paths.home, env: context.env }) : null;
  const isMachine = loaded?.config.homes.enabled === true;
  const conversation = context.program.extensions.find(
    (one) => one.conversation !== undefined && (loaded === null || isOn(one, loaded.config)),
  )?.conversation;
  if (wantsTalk && conversation === undefined)
    throw usageError('--talk needs an extension that talks in the terminal.');
  const talks =
    loaded !== null &&
    !isMachine &&
    conversation !== undefined &&
    (wantsTalk || Object.keys(enabledChannels(loaded)).length === 0);
  // A log line would stand in the middle of the conversation.
  const logsToFile = talks && context.stderr.isTTY === true;
  let assistant: Assistant;
  using trial = new DisposableStack();
  let isUp = false;
  /** It stays up from now on, also while it only waits for its home. */
  const up = (status: string, alive: () => Promise<unknown>): void => {
    void watchdog.ready(status, alive);
    if (isUp) return;
    isUp = true;
    trial.use(
      context.clock.timer(CONFIRM_MS, () => {
        confirmProgram(paths.home, readVersion()).catch((error: unknown) =>
          tell(`upgrade: not confirmed: ${errorMessage(error)}`),
        );
      }),
    );
  };
  // A terminal sends it when it is closed: then it ends the process, as it does by default.
  let reload = (): void => {};
  using _hangUp = isTerminal ? undefined : context.onHangUp(() => reload());
  try {
    assistant = await startAssistant(context, {
      paths,
      config: port === undefined ? {} : { gateway: { port } },
      serve: 'gateway',
      logsToFile,
      onRestart: () => {
        restarts = true;
        ended.abort();
      },
      onWaiting: (sentence) => {
        up(sentence, async () => {});
        if (logsToFile) context.stderr.write(wrapped(escapeInvisible(sentence), context.stderr));
      },
      signal: ended.signal,
    });
  } catch (error) {
    // Stopped while it waited for its disk or its home.
    if (error !== ended.signal.reason || !ended.signal.aborted) throw error;
    // Another gateway took the home before this one had begun.
    if (restarts) {
      await watchdog.restarting();
      context.restart();
    }
    return 0;
  }
  const { log } = assistant;
  tell = (sentence) => log.error(sentence);
  let code = 0;
  let stopsCleanly = true;
  using _strays = context.onStray((error, fatal) => {
    log.error('gateway: uncaught error', { error });
    if (!fatal) return;
    code = 1;
    assistant.markCrashed();
    ended.abort();
  });
  reload = () => void assistant.reload();
  try {
    const { names, ...announced } = await announce(assistant, { context, home: paths.home, logsToFile });
    const platforms = names.filter((name) => !isOwnersChannel(name));
    const status =
      announced.homes === null ? `${announced.model}, ${platforms.join(', ') || 'no chat platform'}` : 'Runs homes';
    up(status, () => assistant.alive());
    if (announced.homes === null && platforms.length === 0)
      log.info(
        `no channel is configured: people reach the assistant in the terminal and on the page (${assistantCommand('init')} adds one)`,
      );
    if (isTerminal) await showPage(assistant, context);
    if (loaded !== null && !isMachine && conversation !== undefined && (wantsTalk || platforms.length === 0)) {
      talksPlainly = printsOnly;
      await conversation(context, {
        assistant,
        paths,
        secrets: loaded.secrets,
        platforms,
        signal: ended.signal,
        interrupts,
        plain: printsOnly,
        onSetup: () => void (setsUp = true),
      });
    } else {
      if (logsToFile)
        context.stderr.write(`Running with ${escapeInvisible(names.join(', '))}. The log: ${paths.log}\n`);
      await aborted(ended.signal);
    }
  } finally {
    const told = restarts ? watchdog.restarting() : watchdog.stopping();
    stopsCleanly = await stop(context, assistant);
    await told;
  }
  // Also after a stop that was not clean, as when the disk failed: there may be nothing else that starts it again.
  if (restarts && code === 0) context.restart();
  if (!stopsCleanly) return 1;
  if (setsUp && code === 0) return await (await import('./init.ts')).setUpHere({ home, port }, context);
  return code;
}

/** Logs that the assistant is ready, the warnings, and an upgrade that was undone; the warnings also to stderr if the log does not go there. */
async function announce(
  assistant: Assistant,
  { context, home, logsToFile }: { readonly context: CliContext; readonly home: string; readonly logsToFile: boolean },
): Promise<{ readonly model: string; readonly names: readonly string[]; readonly homes: number | null }> {
  const { log } = assistant;
  const { home: shownHome, model, channels, http, warnings, homes } = await assistant.call('info', {});
  const names = Object.keys(channels);
  if (logsToFile)
    for (const warning of warnings) context.stderr.write(wrapped(`⚠ ${escapeInvisible(warning)}`, context.stderr));
  for (const warning of warnings) log.warn('config: warning', { warning });
  const runs = homes === undefined ? { model, channels: names } : { homes: homes.map(({ name }) => name) };
  log.info('ready', { home: shownHome, ...runs, http, ms: Math.round(context.clock.monotonic()) });
  const left = await leftVersion(home, readVersion());
  if (left !== undefined) log.error('upgrade: the new version did not stay up, the one before runs', { left });
  return { model, names, homes: homes?.length ?? null };
}

/** Prints the link to the page on a terminal. A log would keep it, and the link lets in everyone who reads it. */
async function showPage(assistant: Assistant, { stdout }: CliContext): Promise<void> {
  const link = await assistant.call('pageLink', {}).catch(() => null);
  // The link is not wrapped: many terminals open it only in one piece.
  if (link !== null)
    stdout.write(
      `${wrapped('In a browser too, with this link (it works once, for ten minutes):', stdout)}${link.link}\n\n`,
    );
}

async function stop(context: CliContext, assistant: Assistant): Promise<boolean> {
  using waiting = deadline(context.clock, STOP_MS, 'stopping');
  try {
    await raceAbort(Promise.resolve(assistant[Symbol.asyncDispose]()), waiting.signal);
    return true;
  } catch (error) {
    assistant.log.error('shutdown: not clean', { reason: errorMessage(error) });
    return false;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

import type { Assistant } from '../library/assistant.ts';
import { resolveHome } from '../config/environment.ts';
import { loadConfig } from '../config/load.ts';
import { homePaths, type HomePaths } from '../config/home.ts';
import type { Program } from '../program.ts';
import { AppError } from '../util/errors.ts';
import type { AssistantPort } from '../gateway/assistant-port.ts';
import { localMinute, localSecond } from '../util/time-zone.ts';
import type { CliContext } from './context.ts';
import { terminalText } from './format.ts';
import { wrapped } from './look.ts';

/** Where the home of this command line is. */
export function pathsOf(context: CliContext, home: string | undefined): HomePaths {
  return homePaths(resolveHome({ flag: home, env: context.env }), context.env);
}

/** Formats times in the home's time zone. */
export async function timesOf(
  context: CliContext,
  home: string | undefined,
): Promise<{
  readonly zone: string | null;
  readonly minute: (at: number) => string;
  readonly second: (at: number) => string;
}> {
  const zone = await zoneOf(context, home);
  return { zone, minute: (at) => localMinute(at, zone), second: (at) => localSecond(at, zone) };
}

/** A home's time zone; null: this machine's. */
export async function zoneOf(context: CliContext, home: string | undefined): Promise<string | null> {
  const loaded = await loadConfig({
    program: context.program,
    home: pathsOf(context, home).home,
    env: context.env,
  }).catch(() => null);
  return loaded?.config.agent.timezone ?? null;
}

/**
 * The program with the plugin packages that a person approved for a home. Loading them runs their code, so only commands that
 * need it call this.
 */
export async function programOfHome(
  { program, env, clock }: Pick<CliContext, 'program' | 'env' | 'clock'>,
  paths: HomePaths,
): Promise<Program> {
  const loaded = await loadConfig({ program, home: paths.home, env }).catch(() => null);
  if (loaded === null || loaded.config.plugins.length === 0) return program;
  const { withPackages } = await import('../plugins/packages.ts');
  return await withPackages(program, { paths, config: loaded.config, clock }, { byName: false });
}

/** Starts the assistant of a home in this process. */
export async function startAssistant(
  context: CliContext,
  options: {
    readonly paths: HomePaths;
    /** Settings over those of the file. */
    readonly config: Readonly<Record<string, unknown>>;
    readonly serve: 'gateway' | 'local';
    readonly logsToFile?: boolean;
    readonly onRestart?: () => void;
    readonly onUnusable?: (error: AppError) => void;
    readonly onWaiting?: (sentence: string) => void;
    readonly signal?: AbortSignal;
  },
): Promise<Assistant> {
  const { paths, ...settings } = options;
  const { createAssistant } = await context.app();
  return createAssistant({ ...settings, home: paths.home, environment: context.env });
}

export interface OpenedAssistant extends AsyncDisposable {
  readonly port: AssistantPort & AsyncDisposable;
  /** It lives in another process. */
  readonly attached: boolean;
}

/**
 * The assistant of a home: the one that runs already, else one in this process. `log`: what that one logs; with
 * `configured` what the file says, to the log file while a person looks at stderr; else warnings, unless the file sets a
 * level.
 */
export async function openAssistant(
  context: CliContext,
  home: string | undefined,
  { log = 'warn' }: { readonly log?: 'warn' | 'silent' | 'configured' } = {},
): Promise<OpenedAssistant> {
  const paths = pathsOf(context, home);
  const running = await context.connect(paths.socket);
  const waiting = (await running?.call('info', {}))?.waiting;
  if (waiting !== undefined) {
    await running?.[Symbol.asyncDispose]();
    throw new AppError('not-started', waiting);
  }
  const logsToFile = log === 'configured' && context.stderr.isTTY === true;
  const logSettings = async (): Promise<Readonly<Record<string, unknown>>> => {
    if (logsToFile) return {};
    const isSet =
      log === 'configured' &&
      (await loadConfig({ program: context.program, home: paths.home, env: context.env })).setsLogLevel;
    return isSet ? {} : { log: { level: log === 'silent' ? log : 'warn' } };
  };
  // What is not confirmed by the disk is found out by the next command; waiting for it would never end.
  const onUnusable = (error: AppError): void => {
    context.stderr.write(`✗ ${terminalText(error.message)} Run the command again.\n`);
    context.exitNow(1);
  };
  const start = async (): Promise<Assistant> =>
    startAssistant(context, { paths, config: await logSettings(), serve: 'local', logsToFile, onUnusable });
  const port = running ?? (await start());
  if (running === undefined) {
    for (const warning of (await port.call('info', {})).warnings)
      context.stderr.write(wrapped(`⚠ ${terminalText(warning)}`, context.stderr));
  }
  return { port, attached: running !== undefined, [Symbol.asyncDispose]: () => port[Symbol.asyncDispose]() };
}

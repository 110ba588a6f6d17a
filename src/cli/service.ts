import { resolveHome } from '../core/config/environment.ts';
import { installService, uninstallService } from '../service/install.ts';
import { openService, type Opened, type ServiceWish } from '../service/open-service.ts';
import type { ServiceState } from '../service/supervisor.ts';
import { AppError, errorCode } from '../core/util/errors.ts';
import type { CliContext } from '../core/cli/context.ts';
import { confirm } from '../core/cli/confirm.ts';
import { terminalText } from '../core/cli/format.ts';
import { fitted, print } from '../core/cli/print.ts';
import { keysForService } from './service-keys.ts';
import type { HomeFlag, OutputFlags } from '../core/cli/command.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';

interface ServiceFlags extends HomeFlag {
  readonly system: boolean;
}

/** `assistant service install`: writes launcher and unit, starts the service and says where keys go. */
export async function serviceInstallCommand(
  { copyKeys, ...flags }: ServiceFlags & { readonly copyKeys: boolean },
  context: CliContext,
): Promise<number> {
  const host = context.host();
  const { supervisor, env } = open(flags, context, 'install');
  const { home, unit, launcher, variables, kind } = supervisor.places;
  await supervisor.prepare();
  const isAsked = context.stdin.isTTY === true && context.stdout.isTTY === true;
  const keys = await keysForService(
    supervisor.places,
    context,
    async (question) => copyKeys || (isAsked && confirm(context, question, { yes: false })),
  );
  const notes = await installService(supervisor, { host, env, added: keys.copied });
  const of = kind === 'system' && host.uid !== 0 ? ' --system' : '';
  say(context, [
    'The service is installed and running.',
    ...rows({ home, unit, launcher }),
    ...notes,
    ...keys.notes,
    `Keys go into ${variables}, one NAME=value on each line; after a change: ${assistantCommand(`service restart${of}`)}`,
    `Its log: ${assistantCommand(`service logs${of}`)}`,
  ]);
  return 0;
}

/** `assistant service uninstall`: stops the service and removes its unit and launcher. */
export async function serviceUninstallCommand(flags: ServiceFlags, context: CliContext): Promise<number> {
  const { supervisor } = open(flags, context, 'change');
  await uninstallService(supervisor);
  say(context, [`The service is removed. The home was not changed: ${supervisor.places.home}`]);
  return 0;
}

const DONE = {
  start: () => 'The service is running.',
  stop: () =>
    `The service is stopped. It starts again with the machine; to prevent that: ${assistantCommand('service uninstall')}`,
  restart: () => 'The service is running again.',
} as const;

/** `assistant service start`, `stop` and `restart`. */
export function serviceActCommand(
  act: keyof typeof DONE,
): (flags: ServiceFlags, context: CliContext) => Promise<number> {
  return async (flags, context) => {
    await open(flags, context, 'change').supervisor[act]();
    say(context, [DONE[act]()]);
    return 0;
  };
}

/** `assistant service status`: what systemd or launchd says of it. The exit code is 0 when it is running. */
export async function serviceStatusCommand(
  { json, ...flags }: ServiceFlags & OutputFlags,
  context: CliContext,
): Promise<number> {
  const state = await open(flags, context, 'look').supervisor.state();
  print(context, json, { facts: state, lines: linesOf(state), escape: terminalText });
  return state.running ? 0 : 1;
}

/** `assistant service logs`: the last lines of its log, and with `follow` what comes until Ctrl-C. */
export async function serviceLogsCommand(
  { follow, ...flags }: ServiceFlags & { readonly follow: boolean },
  context: CliContext,
): Promise<number> {
  const { supervisor, env } = open(flags, context, 'look');
  const { program, args } = supervisor.logs(follow);
  const { execa } = await import('execa');
  const ended = new AbortController();
  using _signals = context.onSignal(() => ended.abort());
  const child = execa(program, [...args], {
    env,
    extendEnv: false,
    stdin: 'ignore',
    stderr: 'pipe',
    buffer: { stdout: false },
    cancelSignal: ended.signal,
    ...(follow ? {} : { timeout: LOGS_MS }),
    reject: false,
  });
  for await (const line of child.iterable()) context.stdout.write(`${terminalText(line)}\n`);
  const result = await child;
  if (ended.signal.aborted || result.exitCode === 0) return 0;
  const why =
    errorCode(result) === 'ENOENT'
      ? 'it is not installed'
      : result.stderr.trim().split('\n')[0] || 'no reason was given';
  throw new AppError(
    'logs-failed',
    `The log could not be read with ${program}: ${why}. See: ${assistantCommand('service status')}`,
  );
}

/** A log is read within this, milliseconds. */
const LOGS_MS = 30_000;

function open({ home, system }: ServiceFlags, context: CliContext, purpose: ServiceWish['for']): Opened {
  const { env } = context;
  const named = home === undefined ? undefined : resolveHome({ flag: home, env });
  const wish = { system, home: named, usualHome: resolveHome({ env }), for: purpose };
  return openService(wish, { host: context.host(), env });
}

function linesOf(state: ServiceState): readonly string[] {
  const { installed, running, linger, since, pid, says, enabled } = state;
  if (!installed) return ['not installed', ...rows({ install: assistantCommand('service install') })];
  return [
    running ? 'running' : 'not running',
    ...rows({
      state: `${state.state}${since === null ? '' : `, since ${since}`}`,
      ...(pid === null ? {} : { process: String(pid) }),
      ...(says === null ? {} : { says }),
      enabled: enabled ? 'yes, it starts by itself' : 'no, it does not start by itself',
      ...(linger === null
        ? {}
        : {
            linger: linger
              ? 'on, it continues after you log out'
              : 'off, it ends when you log out: loginctl enable-linger',
          }),
      home: state.home,
      unit: state.unit,
    }),
  ];
}

function rows(facts: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(facts).map(([name, value]) => `${name.padEnd(9)} ${value}`);
}

function say({ stdout }: CliContext, lines: readonly string[]): void {
  stdout.write(`${fitted(terminalText(lines.join('\n')), stdout)}\n`);
}

import { existsSync } from 'node:fs';
import { purgeHome, requireHome } from '../../backup/purge.ts';
import { resolveHome } from '../../core/config/environment.ts';
import { homePaths } from '../../core/config/home.ts';
import { uninstallService } from '../../service/install.ts';
import { openService, type Opened, type ServiceWish } from '../../service/open-service.ts';
import { readHolder } from '../../core/storage/lock.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError, errorCode } from '../../core/util/errors.ts';
import { confirmByWords } from '../../core/cli/confirm.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { terminalText } from '../../core/cli/format.ts';
import type { HomeFlag } from '../../core/cli/command.ts';

interface UninstallFlags extends HomeFlag {
  readonly system: boolean;
  readonly purge: boolean;
  readonly yes: boolean;
}

/** `assistant uninstall`: removes the service; with `purge` the home too. */
export async function uninstallCommand(flags: UninstallFlags, context: CliContext): Promise<number> {
  const { env, stdout } = context;
  const service = installedService(flags, context, 'look');
  const home = flags.home === undefined && service !== null ? service.home : resolveHome({ flag: flags.home, env });
  const say = (...lines: readonly string[]): void => void stdout.write(`${terminalText(lines.join('\n'))}\n`);
  if (flags.purge) {
    requireHome(home, [context.host().userHome, process.cwd()]);
    const question = `This deletes ${home} for good: memory, conversations, keys. To go on, type its path:`;
    if (!(await confirmByWords(context, question, { words: home, yes: flags.yes }))) {
      say('Nothing was done.');
      return 1;
    }
  }
  if (service !== null && service.home === home) {
    await installedService(flags, context, 'change')?.remove();
    say('The service is removed.');
  } else if (service !== null) {
    say(`The service runs another home, ${service.home}, and stays.`);
  } else {
    say('No service is installed.');
  }
  const running = existsSync(home) ? readHolder(homePaths(home, env).lock) : undefined;
  if (running !== undefined) {
    throw new AppError(
      'home-locked',
      `An assistant still runs in ${home} (process ${running.pid}). Stop it with Ctrl-C, then run: ${assistantCommand(`uninstall${flags.purge ? ' --purge' : ''}`)}`,
    );
  }
  if (flags.purge) {
    await purgeHome(home, context.clock);
    say(`${home} is deleted.`);
  } else if (existsSync(home)) {
    say(
      `The home stays: ${home}. It holds memory, conversations and keys; to delete it: ${assistantCommand('uninstall --purge')}`,
    );
  }
  say(
    `The program stays until you run: ${programRemoval(context.host().program)}`,
    'Delete the bots at the chat platforms and the keys that you made for it, too.',
  );
  return 0;
}

function programRemoval(program: string): string {
  const [, clone] = /^(.*)\/src\/launcher\.cjs$/u.exec(program) ?? [];
  return clone === undefined ? 'npm uninstall -g assistantd' : `rm -r ${clone}`;
}

/** Null: none is installed, or this machine can have none. */
function installedService(
  { home, system }: UninstallFlags,
  context: CliContext,
  purpose: ServiceWish['for'],
): { readonly home: string; readonly remove: () => Promise<void> } | null {
  const { env } = context;
  const named = home === undefined ? undefined : resolveHome({ flag: home, env });
  let opened: Opened;
  try {
    opened = openService(
      { system, home: undefined, usualHome: named ?? resolveHome({ env }), for: purpose },
      { host: context.host(), env },
    );
  } catch (error) {
    if (['no-supervisor', 'home-path'].includes(errorCode(error) ?? '')) return null;
    throw error;
  }
  const { supervisor } = opened;
  if (!existsSync(supervisor.places.unit)) return null;
  return { home: supervisor.places.home, remove: () => uninstallService(supervisor) };
}

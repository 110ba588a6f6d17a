import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../core/util/errors.ts';
import type { Host } from './host.ts';
import { launchdSupervisor } from './launchd.ts';
import { placesOf, SYSTEM_HOME, type Kind, type Places } from './places.ts';
import type { Variables } from './program.ts';
import type { Supervisor } from './supervisor.ts';
import { systemdSupervisor } from './systemd.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ServiceWish {
  /** A service of the machine, with a user of its own. */
  readonly system: boolean;
  /** The home that was named; undefined: none was. */
  readonly home: string | undefined;
  /** The home of a service of this person when none was named. */
  readonly usualHome: string;
  /** What is done with it: a service of the machine needs root for all but a look. */
  readonly for: 'install' | 'change' | 'look';
}

export interface Opened {
  readonly supervisor: Supervisor;
  /** For the programs of the system. */
  readonly env: Variables;
}

/** The service that a command is about. Throws one sentence where there can be none, or not for this person. */
export function openService(
  wish: ServiceWish,
  { host, env }: { readonly host: Host; readonly env: Environment },
): Opened {
  const variables = variablesOf(host, env);
  const configFolder = env['XDG_CONFIG_HOME'] ?? join(host.userHome, '.config');
  const places = (kind: Kind): Places => {
    const at = (home: string): Places => placesOf(kind, { host, home, configFolder });
    const usual = kind === 'system' ? SYSTEM_HOME : wish.usualHome;
    // A unit that is there says whose home it is.
    return at(wish.home ?? homeIn(at(usual).unit) ?? usual);
  };
  const kind = kindOf(wish, host, places);
  if (kind === 'system' && wish.for !== 'look' && host.uid !== 0) {
    throw new AppError(
      'needs-root',
      'A service of the machine needs root. Run the same command with sudo, or leave out --system.',
    );
  }
  const supervisor = (kind === 'launchd' ? launchdSupervisor : systemdSupervisor)(places(kind), {
    host,
    env: variables,
  });
  return { supervisor, env: variables };
}

/** The home that a unit or a plist names; undefined: there is none. */
function homeIn(unit: string): string | undefined {
  if (!existsSync(unit)) return undefined;
  return /ASSISTANT_HOME(?:=|<\/key><string>)([^\n<]+)/u.exec(readFileSync(unit, 'utf8'))?.[1];
}

function kindOf({ system, for: purpose }: ServiceWish, { platform, uid }: Host, places: (kind: Kind) => Places): Kind {
  if (platform === 'darwin') {
    if (!system) return 'launchd';
    throw new AppError('no-system-service', 'On macOS the service belongs to one person. Leave out --system.');
  }
  if (platform !== 'linux') {
    throw new AppError(
      'no-supervisor',
      `Services are managed with systemd on Linux and launchd on macOS. Here, start the assistant with: ${assistantCommand('gateway')}`,
    );
  }
  // Who has no unit of their own means the one of the machine, and root has none.
  if (system || uid === 0) return 'system';
  return purpose !== 'install' && !existsSync(places('user').unit) && existsSync(places('system').unit)
    ? 'system'
    : 'user';
}

/** No key of this terminal reaches the programs of the system, and messages of theirs are in English. */
function variablesOf({ platform, uid, user, userHome }: Host, env: Environment): Variables {
  const runtime = env['XDG_RUNTIME_DIR'] ?? (existsSync(`/run/user/${uid}`) ? `/run/user/${uid}` : undefined);
  const bus = env['DBUS_SESSION_BUS_ADDRESS'];
  return {
    PATH: env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
    HOME: userHome,
    USER: user,
    LC_ALL: 'C',
    ...(runtime === undefined || platform !== 'linux' ? {} : { XDG_RUNTIME_DIR: runtime }),
    ...(bus === undefined ? {} : { DBUS_SESSION_BUS_ADDRESS: bus }),
  };
}

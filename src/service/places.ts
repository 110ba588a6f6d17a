import { join } from 'node:path';
import { AppError } from '../core/util/errors.ts';
import type { Host } from './host.ts';

/** What runs the service: systemd for one person, systemd for the machine, launchd for one person. */
export type Kind = 'user' | 'system' | 'launchd';

/** What the service is called: the unit without `.service`, and the user of a system unit. */
export const SERVICE = 'assistant';
export const UNIT = `${SERVICE}.service`;
/** The label of the launchd agent. */
export const LABEL = 'local.assistant';
/** The home of the system user, and the home of its assistant. */
export const SYSTEM_USER_HOME = '/var/lib/assistant';
export const SYSTEM_HOME = `${SYSTEM_USER_HOME}/.assistant`;

/** What lies where for a service. Absolute paths. */
export interface Places {
  readonly kind: Kind;
  /** The home of the assistant. */
  readonly home: string;
  /** The unit of systemd, or the plist of launchd. */
  readonly unit: string;
  /** The script that the unit starts: it finds Node and the program. */
  readonly launcher: string;
  /** Keys and other variables, `NAME=value` on each line; only its owner may read it. */
  readonly variables: string;
  /** What launchd writes the output to; systemd has a journal of its own. */
  readonly log: string;
}

/** Where the parts of a service lie. Throws `home-path` when a unit cannot name the home. */
export function placesOf(
  kind: Kind,
  { host, home, configFolder }: { readonly host: Host; readonly home: string; readonly configFolder: string },
): Places {
  requirePlain(home);
  const unit = {
    user: join(configFolder, 'systemd/user', UNIT),
    system: join(host.root, 'etc/systemd/system', UNIT),
    launchd: join(host.userHome, 'Library/LaunchAgents', `${LABEL}.plist`),
  }[kind];
  return {
    kind,
    home,
    unit,
    launcher: kind === 'system' ? join(host.root, 'usr/local/lib/assistant/run') : join(home, 'bin/assistant-service'),
    variables: join(home, 'service.env'),
    log: join(home, 'logs/service.log'),
  };
}

/** The control socket has to lie in the home, and systemd splits at spaces where nothing quotes. */
function requirePlain(home: string): void {
  if (/^[\w./@+~:,-]+$/u.test(home) && Buffer.byteLength(home) <= 87) return;
  throw new AppError(
    'home-path',
    `The home of a service must be a path of at most 87 characters, of letters, digits and . / _ - only, but it is ${home}. Choose another one with --home.`,
  );
}

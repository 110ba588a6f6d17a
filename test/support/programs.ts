import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const { env } = process;

/** Programs that tests use and that a machine with Node alone doesn't have, with the paths where each may be. */
const PATHS = {
  bubblewrap: ['/usr/bin/bwrap'],
  Chromium: [
    env['CHROMIUM_PATH'],
    '/usr/bin/chromium',
    '/usr/bin/chromium-headless-shell',
    '/usr/bin/google-chrome',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  PostgreSQL: [env['POSTGRES_BIN'], ...debianFolders(), '/usr/local/bin', '/opt/homebrew/bin'].map(
    (folder) => folder && join(folder, 'initdb'),
  ),
  bash: onPath('bash'),
  curl: onPath('curl'),
  fish: onPath('fish'),
  openssl: onPath('openssl'),
  perl: ['/usr/bin/perl'],
  python3: ['/usr/bin/python3', ...onPath('python3')],
  setsid: onPath('setsid'),
  'systemd-analyze': onPath('systemd-analyze'),
  'systemd-notify': onPath('systemd-notify'),
  tmux: onPath('tmux'),
  zsh: onPath('zsh'),
} satisfies Readonly<Record<string, readonly (string | undefined)[]>>;

export type ProgramName = keyof typeof PATHS;

/** What to do where CI is true and one of these is missing; the CI script installs them. */
const REQUIRED: Partial<Record<ProgramName, string>> = {
  bubblewrap: 'install bubblewrap',
  Chromium: 'install chromium-headless-shell, or set CHROMIUM_PATH',
  PostgreSQL: 'install postgresql, or set POSTGRES_BIN to the folder of initdb',
};

/** The path of a program; undefined if it isn't installed. Throws if CI is true and the tests that need it must run. */
export function findProgram(name: ProgramName, paths = PATHS[name], { CI } = env): string | undefined {
  const path = paths.find((candidate) => candidate !== undefined && isExecutable(candidate));
  const remedy = REQUIRED[name];
  if (path !== undefined || CI !== 'true' || remedy === undefined) return path;
  throw new Error(`CI is true, so the tests that need ${name} must run, but it isn't installed: ${remedy}`);
}

/** Says which of these programs isn't installed, e.g. `tmux is not installed`; undefined if all are. */
export function missing(...names: readonly ProgramName[]): string | undefined {
  const absent = names.find((name) => findProgram(name) === undefined);
  return absent === undefined ? undefined : `${absent} is not installed`;
}

function onPath(name: string): readonly string[] {
  return (env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
}

/** Where Debian's packages have the server's programs, the newest version first. */
function debianFolders(): readonly string[] {
  const folder = '/usr/lib/postgresql';
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(folder, version, 'bin'));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

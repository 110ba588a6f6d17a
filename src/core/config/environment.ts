import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/** Variables by name; what is set to nothing counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process, as it is now. The only reader of `process.env`. */
export function readEnvironment(): Environment {
  return Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''));
}

/** The home folder: the flag, else `ASSISTANT_HOME`, else `~/.assistant`. Absolute; `~/` is understood. */
export function resolveHome(options: { readonly flag?: string; readonly env: Environment }): string {
  const userHome = options.env['HOME'] ?? homedir();
  const wanted = options.flag ?? options.env['ASSISTANT_HOME'] ?? join(userHome, '.assistant');
  if (isAbsolute(wanted)) return resolve(wanted);
  if (wanted === '~') return userHome;
  return wanted.startsWith('~/') ? join(userHome, wanted.slice(2)) : resolve(wanted);
}

/** What commands that the assistant runs see of the environment: never a key. */
export function execEnvironment(env: Environment, allow: readonly string[] = []): Readonly<Record<string, string>> {
  const names = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'USER', 'HOME', ...allow];
  const known: Record<string, string> = {};
  for (const name of names) {
    const value = env[name];
    if (value !== undefined) known[name] = value;
  }
  return known;
}

/** Whether a terminal may be written to in colour (https://no-color.org). */
export function wantsColor(env: Environment): boolean {
  return env['NO_COLOR'] === undefined && env['TERM'] !== 'dumb';
}

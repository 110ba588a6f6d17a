import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { assistantCommand } from '../core/util/assistant-command.ts';
import { AppError } from '../core/util/errors.ts';
import { shellWord } from '../core/util/text.ts';

/** Commands that root may run in anyone's home: those of a system service need root, and `completion` uses no home. */
const FOR_ROOT: ReadonlySet<string> = new Set(['service', 'uninstall', 'completion']);

const USERS = '/etc/passwd';

/**
 * Throws `other-owner` when root runs a command in the home of another user, whose files would then belong to root: the
 * user's own assistant couldn't read them, and a config.json like that stops its next start. The sentence has the command
 * to run instead.
 */
export function refuseOthersHome(command: string, argv: readonly string[], home: string): void {
  if (process.geteuid?.() !== 0 || FOR_ROOT.has(command)) return;
  const owner = ownerOf(home);
  if (owner === undefined || owner === 0) return;
  const words = argv.some((word) => /^--home(?:=|$)/u.test(word)) ? argv : [...argv, '--home', resolve(home)];
  const user = nameOf(owner);
  const instead = `sudo -u ${shellWord(user ?? `#${owner}`)} ${assistantCommand(words.map(shellWord).join(' '))}`;
  throw new AppError(
    'other-owner',
    `${home} belongs to ${user ?? `user ${owner}`}, and this command runs as root. Files that root writes there can't be read by its owner. Run: ${instead}`,
  );
}

/** Who owns a home, or the nearest folder above it that there is: everything below would be created. */
function ownerOf(home: string): number | undefined {
  const above = dirname(home);
  return statSync(home, { throwIfNoEntry: false })?.uid ?? (above === home ? undefined : ownerOf(above));
}

/** Name of a user on this machine; undefined: there is none, as in a container. */
function nameOf(uid: number): string | undefined {
  const users = existsSync(USERS) ? readFileSync(USERS, 'utf8') : '';
  return users
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, , id]) => id === String(uid))?.[0];
}

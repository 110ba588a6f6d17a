import { chmod, chown, mkdir, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ensureDirectory, replaceDurable } from '../core/storage/files.ts';
import { AppError, errorCode, errorMessage } from '../core/util/errors.ts';
import type { Host } from './host.ts';
import { launcherScript } from './launcher-script.ts';
import { SERVICE } from './places.ts';
import { requireProgram, runProgram, type Variables } from './program.ts';
import type { Supervisor } from './supervisor.ts';
import { addVariables } from './variables.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';

/**
 * Installs the service after `prepare`, adds `added` to its file of variables, and starts it. Returns what the person
 * should know. What was there of unit and launcher is written anew.
 */
export async function installService(
  supervisor: Supervisor,
  { host, env, added }: { readonly host: Host; readonly env: Variables; readonly added: Variables },
): Promise<readonly string[]> {
  const { kind, home, unit, launcher, variables, log } = supervisor.places;
  if (/[/\\]_npx[/\\]/u.test(host.program)) {
    throw new AppError(
      'program-temporary',
      `This is a copy that npx made for a moment. Install the package first (docs/install.md), then run: ${assistantCommand('service install')}`,
    );
  }
  try {
    if (kind === 'system') await makeHomeOfUser(home, env);
    else await ensureDirectory(home);
    await addVariables(variables, added);
    await writeNew(launcher, launcherScript(host, kind === 'launchd' ? variables : null), 0o755);
    await requireProgram(launcher, ['--check'], { env, next: 'Then run this command again.' });
    if (kind === 'launchd') await ensureDirectory(dirname(log));
    await writeNew(unit, supervisor.text(), 0o644);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw unwritable(error);
  }
  return supervisor.enable();
}

/** Stops the service and removes its unit and its launcher; the home stays as it is, with its file of variables. */
export async function uninstallService(supervisor: Supervisor): Promise<void> {
  const { unit, launcher } = supervisor.places;
  await supervisor.disable();
  try {
    await rm(unit, { force: true });
    await rm(launcher, { force: true });
    // Other files may lie beside the launcher.
    await rmdir(dirname(launcher)).catch(() => {});
  } catch (error) {
    throw unwritable(error);
  }
  await supervisor.removed();
}

/** A home that root makes belongs to the user of the service; one that is there is left as it is. */
async function makeHomeOfUser(home: string, env: Variables): Promise<void> {
  const id = async (flag: string): Promise<number> => Number((await runProgram('id', [flag, SERVICE], { env })).out);
  const [uid, gid] = [await id('-u'), await id('-g')];
  await mkdir(dirname(home), { recursive: true, mode: 0o755 });
  const made = await mkdir(home, { recursive: true, mode: 0o700 });
  if (made !== undefined && Number.isInteger(uid) && Number.isInteger(gid)) await chown(home, uid, gid);
}

/** Folders that are made above it may be read by all, as those of the system are. */
async function writeNew(path: string, text: string, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await replaceDurable(path, text, { mode });
  await chmod(path, mode);
}

function unwritable(error: unknown): AppError {
  const why = ['EACCES', 'EPERM'].includes(errorCode(error) ?? '') ? ' Run the command with the rights to it.' : '';
  return new AppError('service-files', `The files of the service could not be changed: ${errorMessage(error)}.${why}`, {
    cause: error,
  });
}

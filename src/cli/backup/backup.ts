import { resolve } from 'node:path';
import { readVersion } from '../../core/config/version.ts';
import { createBackup } from '../../backup/backup.ts';
import { holdsHome, restoreBackup } from '../../backup/restore.ts';
import { readHolder } from '../../core/storage/lock.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import { megabytes, plural } from '../../core/util/text.ts';
import { confirm } from '../../core/cli/confirm.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import { pathsOf } from '../../core/cli/open.ts';
import { openProgress } from '../../core/cli/progress.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant backup`: the whole home in one file. */
export async function backupCommand(
  { home, out, json }: OutputFlags & { readonly out: string | undefined },
  context: CliContext,
): Promise<number> {
  const { clock } = context;
  const paths = pathsOf(context, home);
  using progress = openProgress(context);
  const { file, size, manifest } = await createBackup({
    home: paths.home,
    out: resolve(out ?? `assistant-backup-${timeForNames(clock.now())}.tar.gz`),
    version: readVersion(),
    inUse: readHolder(paths.lock) !== undefined,
    clock,
    onProgress: (bytes, all) => progress.show(ofAll('backed up', bytes, all)),
  });
  progress.hide();
  const { files, createdAt, inUse } = manifest;
  print(context, json, {
    facts: { file, size, files: files.length, home: paths.home, createdAt, inUse },
    lines: [
      `${paths.home} is backed up in ${file} (${plural(files.length, 'file')}, ${megabytes(size)}).`,
      'It holds keys and conversations: keep it where only you can read it. Keys in environment variables are not in it.',
      `To restore it: ${assistantCommand(`restore ${file}`)}`,
    ],
    escape: terminalText,
  });
  return 0;
}

/** `assistant restore`: a backup in the place of the home. */
export async function restoreCommand(
  {
    file: name,
    home,
    yes,
    continue: continues,
    json,
  }: OutputFlags & { readonly file: string; readonly yes: boolean; readonly continue: boolean },
  context: CliContext,
): Promise<number> {
  const { clock } = context;
  const paths = pathsOf(context, home);
  const file = resolve(name);
  const running = readHolder(paths.lock);
  if (running !== undefined) {
    throw new AppError(
      'home-locked',
      `An assistant runs in ${paths.home} (process ${running.pid}). Stop it first: Ctrl-C, or ${assistantCommand('service stop')}`,
    );
  }
  const question = `${paths.home} holds an assistant. Move it aside and restore ${file}?`;
  if ((await holdsHome(paths.home)) && !(await confirm(context, question, { yes }))) {
    context.stdout.write('Nothing was done.\n');
    return 1;
  }
  const stamp = timeForNames(clock.now());
  using progress = openProgress(context);
  const { manifest, movedTo, linksLeftOut } = await restoreBackup({
    file,
    home: paths.home,
    continues,
    clock,
    stamp,
    onProgress: (bytes, all) => progress.show(ofAll('read', bytes, all)),
  });
  progress.hide();
  const { createdAt, version, files } = manifest;
  print(context, json, {
    facts: { home: paths.home, movedTo, files: files.length, createdAt, version, linksLeftOut },
    lines: [
      `${paths.home} is restored from the backup of ${createdAt} (version ${version}, ${plural(files.length, 'file')}).`,
      ...newerNote(version),
      ...(movedTo === null ? [] : [`The home of before is in ${movedTo}. Delete it when you do not need it any more.`]),
      ...linksLeftOut.map((link) => `⚠ The link ${link} was left out, because it leads out of the home.`),
      continues
        ? 'Work that was open at the time of the backup continues with the first start.'
        : 'Work that was open at the time of the backup ends with the first start; the owner gets one message about it.',
      `Leave the old assistant off, set the same environment variables, then run: ${assistantCommand('gateway')}`,
    ],
    escape: terminalText,
  });
  return 0;
}

/** Where the backup's program was newer than this one, which reads its data all the same. */
function newerNote(made: string): readonly string[] {
  const own = readVersion();
  if (made.localeCompare(own, 'en', { numeric: true }) <= 0) return [];
  return [
    `⚠ Version ${made} made the backup, and this is version ${own}. To continue with that version: ${assistantCommand(`upgrade ${made}`)}`,
  ];
}

/** `2027-03-01T08-31-02`, which sorts by time and is a file name everywhere. UTC. */
export function timeForNames(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replaceAll(':', '-');
}

/** `backed up 120 MB of 2,048 MB` */
function ofAll(done: string, bytes: number, all: number): string {
  return `${done} ${megabytes(bytes)} of ${megabytes(all)}`;
}

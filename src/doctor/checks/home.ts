import { constants, existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { access, chmod, rm, statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, relative } from 'node:path';
import { machineOf } from '../../core/config/hosted-home.ts';
import { initHome, missingInWorkspace } from '../../core/config/init.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { megabytes, plural, shellWord } from '../../core/util/text.ts';
import { failed, note, ok, warning, type Found } from '../../core/util/finding.ts';
import { checksOn } from '../../core/doctor/check.ts';
import { isAlive, readName } from '../../core/storage/lock.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const homeChecks = checksOn('home', [
  ['home.there', 'the home is there, and its owner can read and write it', there],
  ['home.mode', 'other users of the machine cannot enter the home or read files with keys in it', mode],
  ['home.owner', 'every file of the home belongs to the owner of the home', owner],
  ['home.workspace', 'the folders and the files of the workspace are there', workspace],
  ['home.lock', 'who has the home, and whether they answer', lock],
  ['home.leftovers', 'no temporary files of a process that died are left', leftovers],
  ['home.disk', 'its disk has room, and room for new files', disk],
]);

/** Bytes and files of room on the disk. */
const ROOM = { failedBytes: 50_000_000, warnedBytes: 500_000_000, failedFiles: 200, warnedFiles: 5_000 };
/** Entries of a folder that are looked at. */
const MOST_ENTRIES = 2_000;
const OTHERS = 0o077;
const LEFTOVER = /^\..+\.(?<pid>\d+)\.\d+\.tmp$/u;
/** A process may have the id of one that died. */
const LEFTOVER_AGE_MS = 3_600_000;

async function there({ paths, isMachine, command }: Scene): Promise<readonly Found[]> {
  if (!existsSync(paths.home))
    return [note(`There is no home at ${paths.home} yet.`, command(isMachine ? 'gateway' : 'init'))];
  try {
    await access(paths.home, constants.R_OK | constants.W_OK | constants.X_OK);
    return [ok(`${isMachine ? 'The folder of the machine' : 'The home'} is ${paths.home}.`)];
  } catch {
    return [
      failed(`You may not read and write ${paths.home}.`, `sudo chown -R "$(id -u):$(id -g)" ${shellWord(paths.home)}`),
    ];
  }
}

function mode({ paths }: Scene): readonly Found[] {
  if (!existsSync(paths.home) || process.platform === 'win32') return [];
  const findings: Found[] = [];
  const bits = modeOf(paths.home);
  if ((bits & OTHERS) !== 0) {
    const what = (bits & 0o022) === 0 ? 'look into' : 'change what lies in';
    const say = (bits & 0o022) === 0 ? warning : failed;
    findings.push({
      ...say(
        `Other users of this machine may ${what} ${paths.home} (mode ${bits.toString(8)}).`,
        `chmod 700 ${shellWord(paths.home)}`,
      ),
      repair: async () => {
        await chmod(paths.home, 0o700);
        return `Only its owner can enter ${paths.home} now.`;
      },
    });
  }
  const open = secretFiles(paths.home).filter((path) => (modeOf(path) & OTHERS) !== 0);
  if (open.length > 0) {
    const names = open.map((path) => relative(paths.home, path)).join(', ');
    findings.push({
      ...warning(
        `${names} ${open.length === 1 ? 'holds a secret and may' : 'hold secrets and may'} be read by other users of this machine.`,
        `chmod 600 ${open.map(shellWord).join(' ')}`,
      ),
      repair: async () => {
        for (const path of open) await chmod(path, 0o600);
        return `Only their owner can read ${names} now.`;
      },
    });
  }
  return findings.length === 0 ? [ok('No other user of this machine can read it.')] : findings;
}

function secretFiles(home: string): readonly string[] {
  const secrets = entriesOf(join(home, 'secrets')).map((name) => join(home, 'secrets', name));
  return [join(home, 'gateway.token'), join(home, 'service.env'), ...secrets].filter(
    (path) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true,
  );
}

function owner({ paths, host }: Scene): readonly Found[] {
  const facts = statSync(paths.home, { throwIfNoEntry: false });
  if (facts === undefined || process.platform === 'win32') return [];
  const folders = [
    paths.home,
    paths.workspace,
    paths.sessions,
    join(paths.workspace, 'memory'),
    join(paths.home, 'secrets'),
  ];
  const files = folders.flatMap((folder) => entriesOf(folder).map((name) => join(folder, name)));
  const strange = files.filter((path) => {
    const uid = lstatSync(path, { throwIfNoEntry: false })?.uid;
    return uid !== undefined && uid !== facts.uid;
  });
  const [first] = strange;
  if (first === undefined) return [ok('Everything in it belongs to one user.')];
  const more = strange.length === 1 ? 'belongs' : `and ${plural(strange.length - 1, 'more file')} belong`;
  const sudo = host.uid === 0 ? '' : 'sudo ';
  return [
    failed(
      `${relative(paths.home, first)} ${more} to another user than the home, perhaps because of a sudo.`,
      `${sudo}chown -R ${facts.uid}:${facts.gid} ${shellWord(paths.home)}`,
    ),
  ];
}

async function workspace({ program, paths, command }: Scene): Promise<readonly Found[]> {
  if (!existsSync(paths.home)) return [];
  const repair = async (): Promise<string> => {
    const { created } = await initHome(paths, program);
    return `Added what was missing: ${created.join(', ') || 'folders'}.`;
  };
  const remedy = command('doctor --fix');
  const isMissing = !existsSync(paths.workspace);
  if (isMissing) return [{ ...warning(`The workspace ${paths.workspace} is missing.`, remedy), repair }];
  const missing = await missingInWorkspace(paths);
  if (missing.length === 0) return [ok('The workspace has its files.')];
  return [{ ...note(`The workspace lacks ${missing.join(', ')}.`, remedy), repair }];
}

function lock({ paths, isMachine, gateway, holder, service, command }: Scene): readonly Found[] {
  const what = isMachine ? 'the folder' : 'the home';
  if (gateway !== null) return [ok(`Process ${gateway.pid} has ${what}, and answers.`)];
  const machine = machineOf(paths.home);
  if (holder !== null && machine !== null) {
    const look = assistantCommand(`status --home ${shellWord(machine)}`);
    return [note(`The gateway of ${machine} has the home, which is starting or cannot start.`, look)];
  }
  if (holder !== null) {
    const who = holder.pid === null ? 'A process' : `Process ${holder.pid}`;
    const end = holder.pid === null ? `fuser -v ${shellWord(paths.lock)}` : `kill ${holder.pid}`;
    return [
      warning(
        `${who} has ${what} but does not answer at its control socket: it is starting, it hangs, or it is another command.`,
        service === null ? end : service.command('restart'),
      ),
    ];
  }
  const name = readName(paths.lock);
  if (name === undefined || (name.hostname === hostname() && isAlive(name.pid))) return [ok(`No process has ${what}.`)];
  const file = `${paths.lock}.holder`;
  return [
    {
      ...note(
        `${file} names process ${name.pid}, which is gone: it died without tidying up, and that keeps nothing from starting.`,
        command('doctor --fix'),
      ),
      repair: async () => {
        await rm(file, { force: true });
        return `Removed ${file}.`;
      },
    },
  ];
}

function leftovers({ paths, clock, command }: Scene): readonly Found[] {
  const folders = [
    '',
    'workspace',
    'workspace/memory',
    'workspace/cron',
    'sessions',
    'secrets',
    'media',
    'prompts',
    'versions',
    'backups',
    'quarantine',
  ];
  const left = folders.flatMap((folder) =>
    entriesOf(join(paths.home, folder))
      .filter((name) => LEFTOVER.test(name) || name.endsWith('.partial'))
      .map((name) => join(paths.home, folder, name))
      .filter(
        (path) => clock.now() - (lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > LEFTOVER_AGE_MS,
      ),
  );
  if (left.length === 0) return [ok('No temporary files are left over.')];
  const bytes = left.reduce((sum, path) => sum + (lstatSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
  return [
    {
      ...note(
        `${plural(left.length, 'temporary file')} of earlier processes ${left.length === 1 ? 'is' : 'are'} left (${megabytes(bytes)}).`,
        command('doctor --fix'),
      ),
      repair: async () => {
        for (const path of left) await rm(path, { force: true });
        return `Removed ${plural(left.length, 'temporary file')}.`;
      },
    },
  ];
}

async function disk({ paths }: Scene): Promise<readonly Found[]> {
  if (!existsSync(paths.home)) return [];
  const { bavail, bsize, ffree, files } = await statfs(paths.home);
  const free = bavail * bsize;
  const place = shellWord(paths.home);
  const findings: Found[] = [];
  if (free < ROOM.warnedBytes) {
    const say = free < ROOM.failedBytes ? failed : warning;
    findings.push(say(`The disk of ${paths.home} has ${megabytes(free)} left.`, `df -h ${place}`));
  }
  // File systems without a fixed number of files say 0.
  if (files > 0 && ffree < ROOM.warnedFiles) {
    const say = ffree < ROOM.failedFiles ? failed : warning;
    findings.push(say(`The disk of ${paths.home} has room for ${plural(ffree, 'more file')}.`, `df -i ${place}`));
  }
  return findings.length === 0 ? [ok(`Its disk has ${megabytes(free)} left.`)] : findings;
}

function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).slice(0, MOST_ENTRIES);
  } catch {
    return [];
  }
}

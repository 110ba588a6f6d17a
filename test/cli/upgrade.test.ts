import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readPointer, writePointer } from '../../src/backup/programs.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { readVersion } from '../../src/core/config/version.ts';
import { openJournal } from '../../src/core/journal/journal.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { acquireHomeLock } from '../../src/core/storage/lock.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { FakeAssistant } from '../gateway/fake-assistant.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { writeProgram } from '../support/program-file.ts';
import { waitFor } from '../support/wait.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { CommandLine } from './command-line.ts';

const PRESENT = readVersion();
const JOURNAL = { version: journalMigrations.length, oldestReader: 1 };

/** A machine whose npm puts a package there that says this of itself when it is tried. */
async function machine({
  name = 'assistantd',
  version = '9.0.0',
  journal = JOURNAL,
  dies = '',
  npm = '',
}: {
  readonly name?: string;
  readonly version?: string;
  readonly journal?: typeof JOURNAL;
  readonly dies?: string;
  /** Runs in place of npm. */
  readonly npm?: string;
} = {}): Promise<CommandLine> {
  const line = new CommandLine();
  const folder = temporaryFolder();
  const newId = createIds(systemClock, systemRandom);
  const { state } = homePaths(line.home);
  (await openJournal({ path: state, backupPath: null, clock: systemClock, newId }))[Symbol.dispose]();
  writeFileSync(join(line.home, 'config.json'), '{}');
  const installed = join(folder, 'lib', 'node_modules', 'assistantd');
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ version: PRESENT }));
  line.host = { ...line.host, program: join(installed, 'dist', 'launcher.cjs'), userHome: folder };
  const says = dies === '' ? `console.log('${JSON.stringify({ version, journal })}')` : `throw '${dies}'`;
  const facts = JSON.stringify({ name, version });
  const put = `folder="$3/node_modules/assistantd"; mkdir -p "$folder/dist"
    printf '%s' '${facts}' > "$folder/package.json"
    cat > "$folder/dist/launcher.cjs" <<'END'\n${says}\nEND`;
  writeProgram(join(folder, 'bin', 'npm'), `#!/bin/sh\nshift 0\n${npm === '' ? put : npm}\n`);
  // Beside Node, where npm usually is.
  writeProgram(join(folder, 'bin', 'node'), `#!/bin/sh\nexec ${process.execPath} "$@"\n`);
  line.host = { ...line.host, node: join(folder, 'bin', 'node') };
  line.env = { PATH: '/usr/bin:/bin' };
  return line;
}

/** A gateway whose version is what the launcher would start: the pointer's, or what it falls back to. */
function runningGateway(line: CommandLine, options: { readonly breaks?: string } = {}): Disposable {
  const restarts: string[] = [];
  let version = PRESENT;
  const clock = new SkippingClock();
  line.clock = clock;
  const skipping = setInterval(() => clock.skip(500), 2);
  line.connect = async () => {
    if (version === options.breaks) return undefined;
    const assistant = new FakeAssistant();
    assistant.facts = { ...assistant.facts, version };
    assistant.script = async ({ text }) => {
      restarts.push(text);
      version = (await readPointer(line.home))?.version ?? PRESENT;
      throw new Error('The connection to the running assistant was lost.');
    };
    return assistant;
  };
  const lock = acquireHomeLock(homePaths(line.home).lock, { pid: process.pid, startedAt: 0 });
  // A supervisor starts again what died.
  const supervising = setInterval(() => {
    void readPointer(line.home).then((pointer) => {
      if (version === options.breaks) version = pointer?.version ?? PRESENT;
    });
  }, 20);
  return {
    [Symbol.dispose]: () => {
      clearInterval(skipping);
      clearInterval(supervising);
      lock[Symbol.dispose]();
    },
  };
}

const backupsOf = ({ home }: CommandLine): readonly string[] =>
  readdirSync(join(home, 'backups')).filter((name) => name.startsWith('upgrade-'));

describe('upgrade', () => {
  test('installs, backs up, tries and chooses a version for the next start where nothing runs', async () => {
    const line = await machine();
    expect(await line.run('upgrade'), line.err).toBe(0);
    expect(line.out).toMatch(
      new RegExp(
        `^Version 9\\.0\\.0 is installed beside ${PRESENT}\\.\nThe home is backed up in \\S+\\.\nThe new version starts on a copy of the home\\.\nVersion 9\\.0\\.0 runs from the next start on\\.\n$`,
        'u',
      ),
    );
    expect(await readPointer(line.home)).toEqual({ version: '9.0.0', from: PRESENT, isConfirmed: false });
    expect(readdirSync(join(line.home, 'programs')).toSorted()).toEqual(['9.0.0', 'current.json', 'lock']);
    expect(backupsOf(line)).toHaveLength(1);
  });

  test('restarts the gateway that runs, and confirms the new version when it stays up', async () => {
    const line = await machine();
    using _gateway = runningGateway(line);
    expect(await line.run('upgrade', '--json'), line.err).toBe(0);
    expect(JSON.parse(line.out)).toMatchObject({ from: PRESENT, to: '9.0.0', running: true });
    expect(await readPointer(line.home)).toMatchObject({ version: '9.0.0', isConfirmed: true });
  });

  test('goes back by itself when the new version does not come up', async () => {
    const line = await machine();
    using _gateway = runningGateway(line, { breaks: '9.0.0' });
    expect(await line.run('upgrade')).toBe(1);
    expect(line.err).toBe(
      `Version 9.0.0 did not stay up: nothing answered for 90 seconds. Version ${PRESENT} runs again, with the home as it is.\n`,
    );
    expect(await readPointer(line.home)).toBeUndefined();
  });

  test('keeps the newest five of its backups', async () => {
    const line = await machine();
    mkdirSync(join(line.home, 'backups'));
    for (let n = 1; n <= 6; n += 1) writeFileSync(join(line.home, 'backups', `upgrade-200${n}.tar.gz`), '');
    writeFileSync(join(line.home, 'backups', 'mine.tar.gz'), '');
    expect(await line.run('upgrade')).toBe(0);
    expect(backupsOf(line).slice(0, 4)).toEqual([3, 4, 5, 6].map((n) => `upgrade-200${n}.tar.gz`));
    expect(backupsOf(line)).toHaveLength(5);
    expect(readFileSync(join(line.home, 'backups', 'mine.tar.gz'), 'utf8')).toBe('');
  });

  test('does nothing for the version that runs', async () => {
    const line = await machine({ version: PRESENT });
    expect(await line.run('upgrade')).toBe(0);
    expect(line.out).toBe(`Version ${PRESENT} is what you have.\n`);
    expect(await readPointer(line.home)).toBeUndefined();
  });

  test.each([
    [
      { npm: 'echo "npm error 404 Not Found" >&2; exit 1' },
      'npm could not install assistantd 7: 404 Not Found. Nothing was changed.',
    ],
    [{ name: 'left-pad' }, '7 is not a package of the assistant. Nothing was changed.'],
    [{ dies: 'no disk' }, 'Version 9.0.0 did not start on a copy of the home: '],
    [
      { journal: { version: 999, oldestReader: 999 } },
      'changes the journal in a way that this version cannot read afterwards, so there is no automatic way back.',
    ],
  ])('changes nothing, and says so, with %j', async (trouble, sentence) => {
    const line = await machine(trouble);
    expect(await line.run('upgrade', '7')).toBe(1);
    expect(line.err).toContain(sentence);
    expect(await readPointer(line.home)).toBeUndefined();
    expect(readdirSync(join(line.home, 'programs'))).not.toContain('.trial');
  });

  test('says in the log of the gateway that a version was left, and confirms one that stayed up for 30 seconds', async () => {
    const line = await machine();
    await writePointer(line.home, { version: '9.0.0', from: PRESENT, isConfirmed: false });
    const left = line.run('gateway', '--port', '0');
    await waitFor(() => line.logged.some(({ message }) => message === 'ready'));
    line.signal('SIGTERM');
    expect(await left).toBe(0);
    expect(line.logged).toContainEqual({
      message: 'upgrade: the new version did not stay up, the one before runs',
      fields: { left: '9.0.0' },
    });

    await writePointer(line.home, { version: PRESENT, from: '0.0.1', isConfirmed: false });
    const clock = new SkippingClock();
    line.clock = clock;
    const running = line.run('gateway', '--port', '0');
    await waitFor(async () => {
      clock.skip(1_000);
      return (await readPointer(line.home))?.isConfirmed === true;
    });
    line.signal('SIGTERM');
    expect(await running).toBe(0);
  });

  test('waits for no other upgrade of the same home', async () => {
    const line = await machine();
    mkdirSync(join(line.home, 'programs'));
    using _lock = acquireHomeLock(join(line.home, 'programs', 'lock'), { pid: process.pid, startedAt: 0 });
    expect(await line.run('upgrade')).toBe(1);
    expect(line.err).toBe(`Another upgrade of ${line.home} runs. Wait for its end.\n`);
  });

  test('names the way of a clone, and of a container', async () => {
    const line = new CommandLine();
    expect(await line.run('upgrade')).toBe(1);
    expect(line.err).toContain('This is a clone. Update it with: git pull && npm ci. Make a backup before: ');
    line.err = '';
    line.host = { ...line.host, program: '/app/dist/launcher.cjs' };
    expect(await line.run('upgrade')).toBe(1);
    expect(line.err).toContain('In Docker, update it with: git pull && docker compose up -d --build.');
  });
});

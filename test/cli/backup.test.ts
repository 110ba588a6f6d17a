import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { openJournal } from '../../src/core/journal/journal.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { acquireHomeLock } from '../../src/core/storage/lock.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { fingerprint, readArchive, writeArchive, type ArchiveEntry } from '../support/archives.ts';
import { whyNoSmallDisks } from '../support/small-disk.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { CommandLine } from './command-line.ts';

/** A command line whose home holds a little of everything. */
async function furnished(options?: { readonly terminal?: boolean }): Promise<CommandLine> {
  const line = new CommandLine(options);
  const { home } = line;
  const newId = createIds(systemClock, systemRandom);
  const { state } = homePaths(home);
  (await openJournal({ path: state, backupPath: null, clock: systemClock, newId }))[Symbol.dispose]();
  for (const folder of ['workspace/memory', 'workspace/empty', 'sessions', 'secrets', 'spill', 'logs', 'backups']) {
    await mkdir(join(home, folder), { recursive: true });
  }
  await writeFile(join(home, 'config.json'), '{ "agent": { "model": "demo/demo" } }');
  await writeFile(join(home, 'secrets', 'key'), 'sk-12345', { mode: 0o600 });
  await writeFile(join(home, 'sessions', 'telegram%3a42.jsonl'), '{"a":1}\n{"b":2}\n{"torn');
  await writeFile(join(home, 'workspace', 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  await writeFile(join(home, 'workspace', 'memory', 'MEMORY.md'), '# Memory\n\n- Anna was born on 4 May\n');
  await writeFile(join(home, 'spill', 'long'), 'a long result');
  await writeFile(join(home, 'search.db'), 'made again');
  acquireHomeLock(homePaths(home).lock, { pid: process.pid, startedAt: 0 })[Symbol.dispose]();
  return line;
}

const output = (line: CommandLine): string => join(temporaryFolderOf(line), 'b.tar.gz');
const folders = new WeakMap<CommandLine, string>();

function temporaryFolderOf(line: CommandLine): string {
  const known = folders.get(line) ?? temporaryFolder();
  folders.set(line, known);
  return known;
}

async function backedUp(line: CommandLine): Promise<string> {
  const file = output(line);
  expect(await line.run('backup', '--out', file)).toBe(0);
  return file;
}

/** Restores onto a new machine; its home. */
async function restoredFrom(file: string): Promise<{ readonly line: CommandLine; readonly home: string }> {
  const line = new CommandLine();
  const home = join(line.home, 'home');
  expect(await line.run('restore', file, '--home', home)).toBe(0);
  return { line, home };
}

describe('backup', () => {
  test('is one file that only its owner can read, with every file and its hash, and says so', async () => {
    const line = await furnished();
    const file = await backedUp(line);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(line.out).toContain(`${line.home} is backed up in ${file} (6 files, `);
    expect(line.out).toContain('It holds keys and conversations');
    const names = (await readArchive(file)).map(({ header }) => header.name);
    expect(names[0]).toBe('home/state.db');
    expect(names.at(-1)).toBe('manifest.json');
    expect(names.filter((name) => /spill|search|lock|logs|backups/u.test(name))).toEqual([]);
    // What tar makes of it is the same.
    expect(execFileSync('tar', ['-tzf', file], { encoding: 'utf8' }).trim().split('\n')).toEqual(names);
  });

  test('tells its facts as JSON', async () => {
    const line = await furnished();
    const file = output(line);
    expect(await line.run('backup', '--json', '--out', file)).toBe(0);
    expect(JSON.parse(line.out)).toMatchObject({ file, home: line.home, files: 6, inUse: false });
  });

  test('ends a tape at its last whole line', async () => {
    const line = await furnished();
    const entries = await readArchive(await backedUp(line));
    const tape = entries.find(({ header }) => header.name.startsWith('home/sessions/') && header.type === 'file');
    expect(tape?.bytes.toString()).toBe('{"a":1}\n{"b":2}\n');
  });

  test('has the journal with what another process committed and did not move into its file', async () => {
    const line = await furnished();
    using writer = new DatabaseSync(homePaths(line.home).state);
    writer.exec(
      "PRAGMA wal_autocheckpoint = 0; INSERT INTO people (channel, user_id, role, added_at, added_by) VALUES ('telegram', '7', 'owner', 1, 'code')",
    );
    const { home } = await restoredFrom(await backedUp(line));
    using reader = new DatabaseSync(homePaths(home).state, { readOnly: true });
    expect(reader.prepare('SELECT user_id FROM people').all()).toEqual([{ user_id: '7' }]);
  });

  test.each([
    ['what is there already', () => fileURLToPath(import.meta.url), 'There is something at'],
    ['a place in the home itself', (line: CommandLine) => join(line.home, 'workspace', 'b.tar.gz'), 'lies in the home'],
  ])('does not write over or into %s', async (_what, place, said) => {
    const line = await furnished();
    const before = await fingerprint(line.home);
    expect(await line.run('backup', '--out', place(line))).toBe(1);
    expect(line.err).toContain(said);
    expect(await fingerprint(line.home)).toEqual(before);
  });

  test('says where it looked when there is no home', async () => {
    const line = new CommandLine();
    expect(await line.run('backup', '--home', '/nowhere/at/all', '--out', output(line))).toBe(1);
    expect(line.err).toBe('There is no home at /nowhere/at/all. Name it with --home.\n');
  });

  test.skipIf(whyNoSmallDisks() !== null)('leaves nothing on a disk without room, and says so', async () => {
    const line = await furnished();
    // Bytes that cannot be made smaller.
    await writeFile(join(line.home, 'workspace', 'film'), systemRandom.bytes(3_000_000));
    const disk = join(temporaryFolderOf(line), 'disk');
    await mkdir(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]);
    try {
      expect(await line.run('backup', '--out', join(disk, 'b.tar.gz'))).toBe(1);
      expect(line.err).toMatch(
        /^The backup was not made, and no file is left of it\. .*\/disk could not be written: ENOSPC.*Make room there, or choose another place with --out\.\n$/u,
      );
      expect(await readdir(disk)).toEqual([]);
    } finally {
      execFileSync('umount', [disk]);
    }
  });
});

describe('restore', () => {
  test('makes the same home on another machine, file by file', async () => {
    const line = await furnished();
    const file = await backedUp(line);
    const { home } = await restoredFrom(file);
    const { manifest } = await parts(file);
    const found = await fingerprint(home);
    for (const { path, sha256, mode } of manifest.files) {
      expect([path, found[path]]).toEqual([path, `${mode.toString(8)} ${sha256}`]);
    }
    const extra = Object.keys(found).filter((path) => !manifest.files.some((one) => one.path === path));
    expect(extra.toSorted()).toEqual(['restored.json']);
    expect(existsSync(join(home, 'workspace', 'empty'))).toBe(true);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
  });

  test('moves a home that is there aside, after a yes, and names it', async () => {
    const line = await furnished({ terminal: true });
    const file = await backedUp(line);
    await writeFile(join(line.home, 'workspace', 'later.txt'), 'written after the backup');
    const running = line.run('restore', file);
    line.type('n\n');
    expect(await running).toBe(1);
    expect(existsSync(join(line.home, 'workspace', 'later.txt'))).toBe(true);
    const again = line.run('restore', file);
    line.type('y\n');
    expect(await again).toBe(0);
    const [, aside = ''] = /The home of before is in (\S+)\. Delete/u.exec(line.out) ?? [];
    expect(existsSync(join(line.home, 'workspace', 'later.txt'))).toBe(false);
    expect(readFileSync(join(aside, 'workspace', 'later.txt'), 'utf8')).toBe('written after the backup');
    execFileSync('rm', ['-r', aside]);
  });

  test('asks nobody where nobody can be asked, and keeps what belongs to the machine with --yes', async () => {
    const line = await furnished();
    const file = await backedUp(line);
    await mkdir(join(line.home, 'bin'));
    await writeFile(join(line.home, 'bin', 'assistant-service'), 'the launcher');
    expect(await line.run('restore', file)).toBe(1);
    expect(line.err).toContain('add --yes');
    expect(await line.run('restore', file, '--yes', '--json')).toBe(0);
    const { movedTo } = JSON.parse(line.out.slice(line.out.indexOf('{'))) as { readonly movedTo: string };
    expect(readFileSync(join(line.home, 'bin', 'assistant-service'), 'utf8')).toBe('the launcher');
    execFileSync('rm', ['-r', movedTo]);
  });

  test('leaves a home alone in which an assistant runs', async () => {
    const line = await furnished();
    const file = await backedUp(line);
    using _lock = acquireHomeLock(homePaths(line.home).lock, { pid: process.pid, startedAt: 0 });
    const before = await fingerprint(line.home);
    expect(await line.run('restore', file, '--yes')).toBe(1);
    expect(line.err).toContain(`An assistant runs in ${line.home} (process ${process.pid}). Stop it first`);
    expect(await fingerprint(line.home)).toEqual(before);
  });

  test.skipIf(whyNoSmallDisks() !== null)(
    'keeps the home of before inside, where the home is a mounted volume',
    async () => {
      const line = await furnished();
      const file = await backedUp(line);
      const home = join(temporaryFolder(), 'volume');
      await mkdir(home);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', home]);
      try {
        expect(await line.run('restore', file, '--home', home)).toBe(0);
        await writeFile(join(home, 'workspace', 'later.txt'), 'later');
        expect(await line.run('restore', file, '--home', home, '--yes')).toBe(0);
        const [, aside = ''] = /The home of before is in (\S+)\. Delete/u.exec(line.out) ?? [];
        expect(aside.startsWith(join(home, 'before-'))).toBe(true);
        expect(readFileSync(join(aside, 'workspace', 'later.txt'), 'utf8')).toBe('later');
        expect(existsSync(join(aside, 'state.db'))).toBe(true);
        expect(existsSync(join(home, 'state.db'))).toBe(true);
        expect(existsSync(join(home, 'workspace', 'later.txt'))).toBe(false);
        expect(await readdir(home)).not.toContain('.restore');
      } finally {
        execFileSync('umount', [home]);
      }
    },
  );

  test('makes links anew within the home only, and names the others', async () => {
    const line = await furnished();
    await symlink('run.sh', join(line.home, 'workspace', 'near'));
    await symlink('/etc/passwd', join(line.home, 'workspace', 'far'));
    const file = await backedUp(line);
    const { home, line: there } = await restoredFrom(file);
    expect((await fingerprint(home))['workspace/near']).toBe('→ run.sh');
    expect(existsSync(join(home, 'workspace', 'far'))).toBe(false);
    expect(there.out).toContain('⚠ The link workspace/far was left out, because it leads out of the home.');
  });
});

interface Parts {
  readonly entries: readonly ArchiveEntry[];
  readonly manifest: {
    readonly version: string;
    readonly files: readonly { readonly path: string; readonly sha256: string; readonly mode: number }[];
    readonly links: readonly unknown[];
  };
}

async function parts(file: string): Promise<Parts> {
  const entries = await readArchive(file);
  return { entries, manifest: JSON.parse(entries.at(-1)?.bytes.toString() ?? '') as Parts['manifest'] };
}

/** Tries a spoiled backup over a home; what was said. The home must be as it was. */
async function refusal(spoil: (file: string) => Promise<void> | void): Promise<string> {
  const line = await furnished();
  const file = await backedUp(line);
  await spoil(file);
  const before = await fingerprint(line.home);
  const beside = await readdir(temporaryFolderOf(line));
  expect(await line.run('restore', file, '--yes')).toBe(1);
  expect(await fingerprint(line.home)).toEqual(before);
  expect(await readdir(temporaryFolderOf(line))).toEqual(beside);
  expect(await readdir(line.home)).not.toContain('.restore');
  return line.err;
}

/** Puts an entry in front of all others. */
const withEntry =
  (header: ArchiveEntry['header'], bytes = '') =>
  async (file: string): Promise<void> => {
    const { entries } = await parts(file);
    await writeArchive(file, [{ header, bytes: Buffer.from(bytes) }, ...entries]);
  };

const withManifest =
  (change: (manifest: Parts['manifest']) => unknown) =>
  async (file: string): Promise<void> => {
    const { entries, manifest } = await parts(file);
    const bytes = Buffer.from(JSON.stringify(change(manifest)));
    await writeArchive(file, [...entries.slice(0, -1), { header: { name: 'manifest.json' }, bytes }]);
  };

describe('restore refuses, before anything is replaced,', () => {
  test.each([
    ['a path above the home', { name: 'home/../../evil' }],
    ['a path above the home in its middle', { name: 'home/workspace/../../../evil' }],
    ['an absolute path', { name: '/tmp/evil' }],
    ['a path without the folder', { name: 'evil' }],
    ['an empty part of a path', { name: 'home//evil' }],
    ['a backslash', { name: String.raw`home/..\evil` }],
    ['a symbolic link', { name: 'home/workspace/x', type: 'symlink', linkname: '/etc' }],
    ['a hard link', { name: 'home/workspace/x', type: 'link', linkname: '/etc/passwd' }],
    ['a device', { name: 'home/workspace/x', type: 'character-device' }],
    ['a pipe', { name: 'home/workspace/x', type: 'fifo' }],
  ] as const)('%s', async (_what, header) => {
    expect(await refusal(withEntry(header))).toContain('has an entry that a backup never has');
    expect(existsSync('/tmp/evil')).toBe(false);
  });

  test('a link that leads a file out of the home, also by the list of links', async () => {
    const line = await furnished();
    const file = await backedUp(line);
    const elsewhere = temporaryFolder();
    await withManifest((manifest) => ({
      ...manifest,
      links: [
        { path: 'workspace/a', target: elsewhere },
        { path: 'workspace/inner', target: '.' },
        { path: 'workspace/inner/b', target: 'run.sh' },
        { path: '../beside', target: 'home' },
      ],
    }))(file);
    const { home } = await restoredFrom(file);
    expect(Object.entries(await fingerprint(home)).filter(([, value]) => value.startsWith('→'))).toEqual([
      ['workspace/inner', '→ .'],
    ]);
    expect(existsSync(join(home, '..', 'beside'))).toBe(false);
  });

  test('a file whose content is not what its hash says', async () => {
    const said = await refusal(
      withManifest((manifest) => ({
        ...manifest,
        files: manifest.files.map((one) => (one.path === 'config.json' ? { ...one, sha256: '0'.repeat(64) } : one)),
      })),
    );
    expect(said).toContain('is damaged: config.json is not as it was. Nothing was restored.');
  });

  test('a file too many, one too few, and one that is there twice', async () => {
    expect(await refusal(withEntry({ name: 'home/state.db-wal' }, 'more'))).toContain(
      'state.db-wal is not in its list',
    );
    expect(await refusal(withEntry({ name: 'home/config.json' }, '{}'))).toContain('config.json is in it twice');
    const less = async (file: string): Promise<void> => {
      const { entries } = await parts(file);
      await writeArchive(
        file,
        entries.filter(({ header }) => header.name !== 'home/config.json'),
      );
    };
    expect(await refusal(less)).toContain('config.json is missing');
  });

  test('a file that is cut off, and one that is no backup', async () => {
    expect(await refusal((file) => truncateSync(file, readFileSync(file).length - 200))).toContain('is damaged: ');
    expect(await refusal((file) => writeFileSync(file, 'not an archive'))).toContain('is damaged: ');
    expect(await refusal((file) => writeArchive(file, []))).toContain('its list of files is missing');
  });

  test('a backup of a newer version that this one cannot read', async () => {
    const newer = { version: journalMigrations.length + 3, oldestReader: journalMigrations.length + 1 };
    const said = await refusal(withManifest((manifest) => ({ ...manifest, version: '9.9.9', journal: newer })));
    expect(said).toContain('was made by version 9.9.9, whose data this version cannot read');
    const format = await refusal(withManifest(() => ({ format: 2, other: true })));
    expect(format).toContain('was made by a newer version, whose data this version cannot read');
  });

  test('nothing of a newer version that only added something', async () => {
    const line = await furnished();
    const file = await backedUp(line);
    const newer = { version: journalMigrations.length + 3, oldestReader: journalMigrations.length };
    await withManifest((manifest) => ({ ...manifest, version: '9.9.9', journal: newer }))(file);
    const { line: there } = await restoredFrom(file);
    expect(there.out).toMatch(/Version 9\.9\.9 made the backup, and this is version \d.*: .*upgrade 9\.9\.9 --home /u);
  });
});

describe('restore --continue', () => {
  test('lets what was open go on, when the assistant was stopped before the backup', async () => {
    const line = await furnished();
    const file = await backedUp(line);
    const home = join(temporaryFolder(), 'home');
    expect(await line.run('restore', file, '--home', home, '--continue')).toBe(0);
    expect(line.out).toContain('Work that was open at the time of the backup continues with the first start.');
    expect(existsSync(join(home, 'restored.json'))).toBe(false);
  });

  test('is refused for a backup of an assistant that ran', async () => {
    const line = await furnished();
    using _lock = acquireHomeLock(homePaths(line.home).lock, { pid: process.pid, startedAt: 0 });
    const file = await backedUp(line);
    const home = join(temporaryFolder(), 'home');
    expect(await line.run('restore', file, '--home', home, '--continue')).toBe(1);
    expect(line.err).toContain('was made while an assistant ran');
    expect(existsSync(home)).toBe(false);
  });
});

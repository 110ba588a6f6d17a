import { execFileSync } from 'node:child_process';
import { link, mkdir, readFile, readdir, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PathGuard, PathGuardOptions } from '../../src/core/security/paths/open-inside.ts';
import {
  decide,
  GUEST as guest,
  listThrough,
  OWNER as owner,
  pathWorld,
  readThrough as readBy,
  TAINTED as tainted,
  TRUSTED as trusted,
  writeTo,
  type PathUse,
  type PathWorld,
} from '../support/path-world.ts';

let world: PathWorld;
let root: string;
let home: string;
let workspace: string;
let guard: PathGuard;

const makeGuard = (options: Partial<PathGuardOptions> = {}): PathGuard => world.guard(options);
const readThrough = (path: string, use: PathUse = owner, by = guard): Promise<string> => readBy(by, path, use);

beforeEach(async () => {
  world = await pathWorld();
  ({ root, home, workspace } = world);
  guard = makeGuard();
});

afterEach(() => world[Symbol.asyncDispose]());

describe('reading', () => {
  test('a relative path starts in the workspace', async () => {
    expect(await readThrough('a.txt')).toBe('inside');
    expect(await readThrough('notes/../a.txt')).toBe('inside');
  });

  test('an absolute path in the workspace is fine, also when the workspace is named by a link', async () => {
    await symlink(workspace, join(root, 'link'));
    const linked = makeGuard({ workspace: join(root, 'link') });
    expect(await readThrough(join(workspace, 'a.txt'), owner, linked)).toBe('inside');
    expect(await readThrough(join(root, 'link', 'a.txt'), owner, linked)).toBe('inside');
  });

  test('a workspace that was swapped for a link to elsewhere opens nothing there', async () => {
    expect(await readThrough('a.txt')).toBe('inside');
    await rename(workspace, `${workspace}-aside`);
    await symlink(join(root, 'outside'), workspace);
    await expect(readThrough('secret.txt')).rejects.toThrow('outside');
  });

  test('~ is the home of the user', async () => {
    await expect(readThrough('~/x')).rejects.toThrow(join(root, 'user', 'x'));
    expect(guard.resolve('~')).toBe(join(root, 'user'));
    expect(guard.resolve('~x')).toBe(join(workspace, '~x'));
  });

  test.each(['../../outside/secret.txt', '../../outside/missing.txt', '/etc/passwd'])('%s is outside', async (path) => {
    await expect(readThrough(path)).rejects.toThrow(/outside the workspace/);
    expect(await decide(guard, path, 'read', owner)).toMatchObject({ decision: 'deny' });
  });

  test('a link that leads outside leads nowhere, and does not tell what exists there', async () => {
    await symlink(join(root, 'outside'), join(workspace, 'out'));
    await expect(readThrough('out/secret.txt')).rejects.toThrow(/outside the workspace/);
    await expect(readThrough('out/missing.txt')).rejects.toThrow(/outside the workspace/);
    await expect(listThrough(guard, 'out', owner)).rejects.toThrow(/outside the workspace/);
    expect(await decide(guard, 'out/secret.txt', 'read', owner)).toMatchObject({ decision: 'deny' });
  });

  test('a link within the workspace is followed', async () => {
    await symlink('a.txt', join(workspace, 'b.txt'));
    expect(await readThrough('b.txt')).toBe('inside');
  });

  test('a read root may be read and not written', async () => {
    const wider = makeGuard({ readRoots: [join(root, 'outside')] });
    expect(await readThrough(join(root, 'outside', 'secret.txt'), owner, wider)).toBe('OUTSIDE');
    await expect(writeTo(wider, join(root, 'outside', 'secret.txt'), 'x', owner)).rejects.toThrow(
      /outside the workspace/,
    );
  });

  test('without the restriction everything but the state is open', async () => {
    const open = makeGuard({ restrictToWorkspace: false });
    expect(await readThrough(join(root, 'outside', 'secret.txt'), owner, open)).toBe('OUTSIDE');
    await expect(readThrough(join(home, 'config.json'), owner, open)).rejects.toThrow(/configuration or state/);
    await expect(readThrough('/proc/self/environ', owner, open)).rejects.toThrow(/belongs to the system/);
  });

  test.each(['/proc/self/environ', '/proc/self/root/etc/passwd', '/dev/zero', '/sys/kernel'])(
    '%s is refused',
    async (path) => {
      const open = makeGuard({ restrictToWorkspace: false });
      await expect(readThrough(path, owner, open)).rejects.toThrow(/./);
      expect(await decide(guard, path, 'read', owner)).toMatchObject({ decision: 'deny' });
    },
  );

  test('a directory, a pipe and a socket are not files, and a pipe never makes it wait', async () => {
    execFileSync('sh', ['-c', 'mkfifo pipe'], { cwd: workspace });
    const server = createServer().listen(join(workspace, 'sock'));
    await expect(readThrough('notes')).rejects.toThrow('notes is a directory; a file was expected.');
    await expect(readThrough('pipe')).rejects.toThrow(/not a regular file/);
    await expect(readThrough('sock')).rejects.toThrow(/not a regular file/);
    await expect(writeTo(guard, 'pipe', 'x', owner)).rejects.toThrow(/not a regular file/);
    server.close();
  });

  test('what is missing, circular or not a path is said in one sentence', async () => {
    await symlink('loop', join(workspace, 'loop'));
    await expect(readThrough('nothing.txt')).rejects.toThrow('nothing.txt does not exist.');
    await expect(readThrough('a.txt/b')).rejects.toThrow(/does not exist/);
    await expect(readThrough('loop')).rejects.toThrow('loop cannot be opened: its links lead in a circle.');
    await expect(readThrough('')).rejects.toThrow(/non-empty/);
    await expect(readThrough('a\0b')).rejects.toThrow(/NUL/);
  });
});

describe('the state of the assistant', () => {
  test.each([
    'config.json',
    'state.db',
    'state.db-wal',
    'sessions/one.jsonl',
    'gateway.token',
    'audit.jsonl',
    'lock',
    'logs/x',
    'anything',
  ])('%s is closed for reading and writing', async (name) => {
    for (const open of [guard, makeGuard({ restrictToWorkspace: false }), makeGuard({ workspace: root })]) {
      expect(await decide(open, join(home, name), 'read', owner)).toMatchObject({ decision: 'deny' });
      expect(await decide(open, join(home, name), 'write', owner)).toMatchObject({ decision: 'deny' });
      await expect(readThrough(join(home, name), owner, open)).rejects.toThrow(/configuration or state|outside/);
    }
  });

  test('it stays closed through links, and where the workspace contains it', async () => {
    await symlink(join(home, 'config.json'), join(workspace, 'soft'));
    await expect(readThrough('soft')).rejects.toThrow(/configuration or state/);
    expect(await listThrough(makeGuard({ restrictToWorkspace: false }), root)).toEqual(['outside/', 'user/']);
    for (const flat of [makeGuard({ workspace: home }), makeGuard({ workspace: root })]) {
      for (const access of ['read', 'write'] as const) {
        expect(await decide(flat, join(home, 'sessions', 'one.jsonl'), access)).toMatchObject({ decision: 'deny' });
      }
    }
  });

  test('no setting opens it: only a session reads its own folders', async () => {
    await mkdir(join(home, 'media', 'own'), { recursive: true });
    await writeFile(join(home, 'media', 'own', 'x'), 'photo');
    const photo = join(home, 'media', 'own', 'x');
    const wider = makeGuard({ readRoots: [home, join(home, 'media'), join(home, 'sessions'), root] });
    for (const path of [photo, join(home, 'sessions', 'one.jsonl')]) {
      await expect(readThrough(path, owner, wider)).rejects.toThrow(/configuration or state/);
    }
    const use = { ...owner, readRoots: [join(home, 'media', 'own'), home] };
    expect(await readThrough(photo, use, wider)).toBe('photo');
    await expect(readThrough(join(home, 'config.json'), use, wider)).rejects.toThrow(/configuration or state/);
  });
});

describe('secrets', () => {
  const asked = [
    '.env',
    '.env.local',
    'x/.env',
    '.ssh/config',
    '.aws/credentials',
    '.npmrc',
    '.netrc',
    'id_rsa',
    'x/id_ed25519',
    'a.pem',
    'b.KEY',
    '.bashrc',
    '.zshenv',
    '.gnupg/x',
  ];
  test.each(asked)('%s needs a yes', async (path) => {
    expect(await decide(guard, path, 'read', owner)).toMatchObject({ decision: 'ask', reason: expect.any(String) });
    expect(await decide(guard, path, 'write', owner)).toMatchObject({ decision: 'ask' });
  });

  test.each(['.env.example', 'env', 'id_rsa.pub', 'monkey', 'keys.txt', 'notes/environment.md', 'bashrc'])(
    '%s does not',
    async (path) => {
      expect(await decide(guard, path, 'read', owner)).toMatchObject({ decision: 'allow' });
    },
  );

  test('are opened only for the path that was approved', async () => {
    await writeFile(join(workspace, '.env'), 'KEY=1');
    await symlink('.env', join(workspace, 'plain.txt'));
    await expect(readThrough('.env')).rejects.toThrow(/needs a yes/);
    await expect(readThrough('plain.txt')).rejects.toThrow(/needs a yes/);
    expect(await decide(guard, 'plain.txt', 'read', owner)).toMatchObject({
      decision: 'ask',
      path: join(workspace, '.env'),
    });
    expect(await readThrough('plain.txt', { ...owner, approved: join(workspace, '.env') })).toBe('KEY=1');
    await expect(readThrough('.env', { ...owner, approved: 'else' })).rejects.toThrow(/needs a yes/);
  });
});

describe('protected places', () => {
  const places = [
    'SOUL.md',
    'AGENTS.md',
    'USER.md',
    'TOOLS.md',
    'HEARTBEAT.md',
    'memory/MEMORY.md',
    'skills/x/SKILL.md',
    '.git/hooks/post-commit',
    'repo/.git/hooks/pre-push',
    'repo/.git/remotes/origin',
    'repo/.git/branches/main',
  ];
  test.each(places)('%s is written by the owner in a clean turn', async (path) => {
    await writeTo(guard, path, 'ok', owner);
    expect(await readFile(join(workspace, path), 'utf8')).toBe('ok');
  });

  test.each(places)('%s needs a yes in a tainted turn', async (path) => {
    expect(await decide(guard, path, 'write', tainted)).toMatchObject({ decision: 'ask' });
    await expect(writeTo(guard, path, 'no', tainted)).rejects.toThrow(/needs a yes/);
    await writeTo(guard, path, 'yes', { ...tainted, approved: join(workspace, path) });
    expect(await readFile(join(workspace, path), 'utf8')).toBe('yes');
  });

  test('are not written by others without a yes', async () => {
    expect(await decide(guard, 'SOUL.md', 'write', trusted)).toMatchObject({ decision: 'ask' });
    expect(await decide(guard, 'skills/x', 'write', guest)).toMatchObject({ decision: 'ask' });
    expect(await decide(guard, 'docs/SOUL.md', 'write', guest)).toMatchObject({ decision: 'allow' });
  });

  test('the list of jobs is never written, and can be read', async () => {
    expect(await decide(guard, 'cron/jobs.json', 'write', owner)).toMatchObject({
      decision: 'deny',
      reason: /cron tool/,
    });
    expect(await decide(guard, 'cron/jobs.json', 'read', owner)).toMatchObject({ decision: 'allow' });
  });

  test('memory and USER.md are closed to everybody but the owner', async () => {
    await mkdir(join(workspace, 'memory'));
    await writeFile(join(workspace, 'memory', 'MEMORY.md'), 'private');
    for (const who of [trusted, guest]) {
      for (const path of ['memory', 'memory/MEMORY.md', 'USER.md', 'Memory/x']) {
        expect(await decide(guard, path, 'read', who)).toMatchObject({ decision: 'deny', reason: /private/ });
        expect(await decide(guard, path, 'write', who)).toMatchObject({ decision: 'deny' });
      }
      await expect(readThrough('memory/MEMORY.md', who)).rejects.toThrow(/private/);
      expect(await listThrough(guard, '.', who)).toEqual(['a.txt  6 bytes', 'notes/']);
    }
    expect(await readThrough('memory/MEMORY.md')).toBe('private');
  });
});

describe('writing', () => {
  test('creates a file with its parents, for the owner of the process alone', async () => {
    await writeTo(guard, 'x/y/z.txt', 'new', owner);
    expect(await readFile(join(workspace, 'x/y/z.txt'), 'utf8')).toBe('new');
    expect((await stat(join(workspace, 'x/y/z.txt'))).mode & 0o777).toBe(0o600);
  });

  test('replaces a file in one step, keeps its mode and leaves nothing beside it', async () => {
    await writeFile(join(workspace, 'run.sh'), 'old', { mode: 0o755 });
    await writeTo(guard, 'run.sh', 'new', owner);
    expect((await stat(join(workspace, 'run.sh'))).mode & 0o777).toBe(0o755);
    expect((await readdir(workspace)).sort()).toEqual(['a.txt', 'notes', 'run.sh']);
  });

  test('follows a link within the workspace and keeps the link', async () => {
    await symlink('a.txt', join(workspace, 'b.txt'));
    await writeTo(guard, 'b.txt', 'through', owner);
    expect(await readFile(join(workspace, 'a.txt'), 'utf8')).toBe('through');
  });

  test('refuses links that lead outside or nowhere, and directories', async () => {
    await symlink(join(root, 'outside', 'secret.txt'), join(workspace, 'l1'));
    await symlink(join(root, 'outside', 'new.txt'), join(workspace, 'l2'));
    await symlink(join(root, 'outside'), join(workspace, 'l3'));
    const refusals: readonly [string, RegExp][] = [
      ['l1', /outside/],
      ['l2', /outside/],
      ['l3/new.txt', /outside/],
      ['l3/deep/new.txt', /outside/],
      ['notes', /is a directory/],
      ['a.txt/b', /not a directory|does not exist/],
    ];
    for (const [path, reason] of refusals) {
      await expect(writeTo(guard, path, 'x', owner)).rejects.toThrow(reason);
    }
    expect(await readdir(join(root, 'outside'))).toEqual(['secret.txt']);
    expect(await readFile(join(root, 'outside', 'secret.txt'), 'utf8')).toBe('OUTSIDE');
  });

  test('leaves another name of the file as it was', async () => {
    await link(join(workspace, 'a.txt'), join(workspace, 'hard'));
    await writeTo(guard, 'hard', 'new');
    expect(await readFile(join(workspace, 'a.txt'), 'utf8')).toBe('inside');
    expect(await readFile(join(workspace, 'hard'), 'utf8')).toBe('new');
  });

  test.each([
    ['is changed', 'a.txt', (path: string) => writeFile(path, 'somebody else')],
    ['is replaced by an equal one', 'a.txt', (path: string) => rename(join(root, 'outside', 'secret.txt'), path)],
    ['comes', 'new.txt', (path: string) => writeFile(path, 'somebody else')],
    ['becomes a link', 'a.txt', (path: string) => rename(path, `${path}-aside`).then(() => symlink('notes', path))],
    ['goes', 'a.txt', (path: string) => rename(path, `${path}-aside`)],
  ])('refuses to write over or remove a file that %s after it was opened', async (_what, path, change) => {
    using place = await guard.openInside(path, 'write', owner);
    await change(join(workspace, path));
    const before = await readdir(workspace);
    await expect(place.write(Buffer.from('x'))).rejects.toThrow('changed after it was read');
    await expect(place.remove()).rejects.toThrow('changed after it was read');
    expect(await readdir(workspace)).toEqual(before);
  });

  test('makes what is not there yet, and removes what was opened', async () => {
    using made = await guard.openInside('new/deep.txt', 'write', owner);
    expect([made.stat, made.newFolders]).toEqual([null, [join(workspace, 'new')]]);
    await made.write(Buffer.from('mine'), 0o640);
    expect((await stat(made.path)).mode & 0o777).toBe(0o640);
    using place = await guard.openInside('new/deep.txt', 'write', owner);
    await place.remove();
    await guard.removeEmptyFolder('new', owner);
    await guard.removeEmptyFolder('notes/missing', owner);
    await expect(guard.removeEmptyFolder('../sessions', owner)).rejects.toThrow('configuration or state');
    expect((await readdir(workspace)).toSorted()).toEqual(['a.txt', 'notes']);
    using readOnly = await guard.openInside('a.txt', 'read', owner);
    await expect(readOnly.write(Buffer.from('x'))).rejects.toThrow('opened for reading');
  });
});

test('listing tells names, kinds and sizes', async () => {
  await symlink('a.txt', join(workspace, 'b.txt'));
  expect(await listThrough(guard, '.')).toEqual(['a.txt  6 bytes', 'b.txt  (link)', 'notes/']);
  await expect(listThrough(guard, 'a.txt')).rejects.toThrow('a.txt is not a directory.');
});

import { execFileSync } from 'node:child_process';
import {
  link,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PathCaller } from '../../src/core/security/paths/rules.ts';
import { PathGuard, type PathGuardOptions, type PathUse } from '../../src/core/security/paths/guard.ts';
import { PATHS } from '../support/extensions.ts';

let root: string;
let home: string;
let workspace: string;
let guard: PathGuard;

const owner: PathCaller = { role: 'owner', chatType: 'direct', taint: { untrusted: false } };
const tainted: PathCaller = { role: 'owner', chatType: 'direct', taint: { untrusted: true } };
const trusted: PathCaller = { role: 'trusted', taint: { untrusted: false } };
const guest: PathCaller = { role: 'guest', taint: { untrusted: true } };

function makeGuard(options: Partial<PathGuardOptions> = {}): PathGuard {
  return new PathGuard({
    paths: PATHS,
    workspace,
    home,
    readRoots: [],
    restrictToWorkspace: true,
    userHome: join(root, 'user'),
    ...options,
  });
}

async function readThrough(path: string, use: PathUse = owner, by = guard): Promise<string> {
  const { handle } = await by.openForReading(path, use);
  try {
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'paths-')));
  home = join(root, 'home');
  workspace = join(home, 'workspace');
  await mkdir(join(workspace, 'notes'), { recursive: true });
  await mkdir(join(root, 'outside'));
  await mkdir(join(root, 'user'));
  await mkdir(join(home, 'sessions'));
  await writeFile(join(workspace, 'a.txt'), 'inside');
  await writeFile(join(root, 'outside', 'secret.txt'), 'OUTSIDE');
  await writeFile(join(home, 'config.json'), 'CONFIG');
  await writeFile(join(home, 'sessions', 'one.jsonl'), 'TAPE');
  guard = makeGuard();
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

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
    await expect(guard.openForReading('~/x', owner)).rejects.toThrow(join(root, 'user', 'x'));
    expect(guard.resolve('~')).toBe(join(root, 'user'));
    expect(guard.resolve('~x')).toBe(join(workspace, '~x'));
  });

  test.each(['../../outside/secret.txt', '../../outside/missing.txt', '/etc/passwd'])('%s is outside', async (path) => {
    await expect(readThrough(path)).rejects.toThrow(/outside the workspace/);
    expect(await guard.check(path, 'read', owner)).toMatchObject({ decision: 'deny' });
  });

  test('a link that leads outside leads nowhere, and does not tell what exists there', async () => {
    await symlink(join(root, 'outside'), join(workspace, 'out'));
    await expect(readThrough('out/secret.txt')).rejects.toThrow(/outside the workspace/);
    await expect(readThrough('out/missing.txt')).rejects.toThrow(/outside the workspace/);
    await expect(guard.list('out', owner)).rejects.toThrow(/outside the workspace/);
    expect(await guard.check('out/secret.txt', 'read', owner)).toMatchObject({ decision: 'deny' });
  });

  test('a link within the workspace is followed', async () => {
    await symlink('a.txt', join(workspace, 'b.txt'));
    expect(await readThrough('b.txt')).toBe('inside');
  });

  test('a read root may be read and not written', async () => {
    const wider = makeGuard({ readRoots: [join(root, 'outside')] });
    expect(await readThrough(join(root, 'outside', 'secret.txt'), owner, wider)).toBe('OUTSIDE');
    await expect(wider.writeFile(join(root, 'outside', 'secret.txt'), Buffer.from('x'), owner)).rejects.toThrow(
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
      expect(await guard.check(path, 'read', owner)).toMatchObject({ decision: 'deny' });
    },
  );

  test('a directory, a pipe and a socket are not files, and a pipe never makes it wait', async () => {
    execFileSync('sh', ['-c', 'mkfifo pipe'], { cwd: workspace });
    const server = createServer().listen(join(workspace, 'sock'));
    await expect(readThrough('notes')).rejects.toThrow('notes is a directory; a file was expected.');
    await expect(readThrough('pipe')).rejects.toThrow(/not a regular file/);
    await expect(readThrough('sock')).rejects.toThrow(/not a regular file/);
    await expect(guard.writeFile('pipe', Buffer.from('x'), owner)).rejects.toThrow(/not a regular file/);
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
      expect(await open.check(join(home, name), 'read', owner)).toMatchObject({ decision: 'deny' });
      expect(await open.check(join(home, name), 'write', owner)).toMatchObject({ decision: 'deny' });
      await expect(readThrough(join(home, name), owner, open)).rejects.toThrow(/configuration or state|outside/);
    }
  });

  test('it stays closed when the workspace is the home itself', async () => {
    const flat = makeGuard({ workspace: home });
    for (const name of ['service.env', 'secrets/openai', 'bin/assistant-service']) {
      for (const access of ['read', 'write'] as const) {
        expect(await flat.check(join(home, name), access, owner)).toMatchObject({ decision: 'deny' });
      }
    }
    await expect(readThrough('config.json', owner, flat)).rejects.toThrow(/configuration or state/);
    await expect(readThrough('sessions/one.jsonl', owner, flat)).rejects.toThrow(/configuration or state/);
    expect((await flat.list('.', owner)).entries.map((entry) => entry.name)).toEqual(['workspace']);
  });

  test('keys that the set-up wrote stay closed where the home is the workspace or a read root', async () => {
    await mkdir(join(home, 'secrets'));
    await writeFile(join(home, 'secrets', 'OPENAI_API_KEY'), 'a key');
    const key = join(home, 'secrets', 'OPENAI_API_KEY');
    for (const open of [makeGuard({ workspace: home }), makeGuard({ readRoots: [join(home, 'secrets')] })]) {
      await expect(readThrough(key, owner, open)).rejects.toThrow(/configuration or state/);
    }
  });

  test('it stays closed through links and hard links', async () => {
    await symlink(join(home, 'config.json'), join(workspace, 'soft'));
    await link(join(home, 'config.json'), join(workspace, 'hard'));
    await link(join(home, 'sessions', 'one.jsonl'), join(workspace, 'tape'));
    await expect(readThrough('soft')).rejects.toThrow(/configuration or state/);
    await expect(readThrough('hard')).rejects.toThrow(/under another name/);
    await expect(readThrough('tape')).rejects.toThrow(/under another name/);
    await expect(guard.writeFile('hard', Buffer.from('x'), owner)).rejects.toThrow(/under another name/);
  });

  test('a read root in the home is open, the state in it is not', async () => {
    await mkdir(join(home, 'media'));
    await writeFile(join(home, 'media', 'x'), 'photo');
    const wider = makeGuard({ readRoots: [join(home, 'media'), join(home, 'sessions')] });
    expect(await readThrough(join(home, 'media', 'x'), owner, wider)).toBe('photo');
    await expect(readThrough(join(home, 'sessions', 'one.jsonl'), owner, wider)).rejects.toThrow(
      /configuration or state/,
    );
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
    expect(await guard.check(path, 'read', owner)).toMatchObject({ decision: 'ask', reason: expect.any(String) });
    expect(await guard.check(path, 'write', owner)).toMatchObject({ decision: 'ask' });
  });

  test.each(['.env.example', 'env', 'id_rsa.pub', 'monkey', 'keys.txt', 'notes/environment.md', 'bashrc'])(
    '%s does not',
    async (path) => {
      expect(await guard.check(path, 'read', owner)).toMatchObject({ decision: 'allow' });
    },
  );

  test('are opened only for the path that was approved', async () => {
    await writeFile(join(workspace, '.env'), 'KEY=1');
    await symlink('.env', join(workspace, 'plain.txt'));
    await expect(readThrough('.env')).rejects.toThrow(/needs a yes/);
    await expect(readThrough('plain.txt')).rejects.toThrow(/needs a yes/);
    expect(await guard.check('plain.txt', 'read', owner)).toMatchObject({
      decision: 'ask',
      path: join(workspace, '.env'),
    });
    const approved = (path: string): boolean => path === join(workspace, '.env');
    expect(await readThrough('plain.txt', { ...owner, approved })).toBe('KEY=1');
    await expect(readThrough('.env', { ...owner, approved: () => false })).rejects.toThrow(/needs a yes/);
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
    await guard.writeFile(path, Buffer.from('ok'), owner);
    expect(await readFile(join(workspace, path), 'utf8')).toBe('ok');
  });

  test.each(places)('%s needs a yes in a tainted turn', async (path) => {
    expect(await guard.check(path, 'write', tainted)).toMatchObject({ decision: 'ask' });
    await expect(guard.writeFile(path, Buffer.from('no'), tainted)).rejects.toThrow(/needs a yes/);
    await guard.writeFile(path, Buffer.from('yes'), { ...tainted, approved: (real) => real === join(workspace, path) });
    expect(await readFile(join(workspace, path), 'utf8')).toBe('yes');
  });

  test('are not written by others without a yes', async () => {
    expect(await guard.check('SOUL.md', 'write', trusted)).toMatchObject({ decision: 'ask' });
    expect(await guard.check('skills/x', 'write', guest)).toMatchObject({ decision: 'ask' });
    expect(await guard.check('docs/SOUL.md', 'write', guest)).toMatchObject({ decision: 'allow' });
  });

  test('the list of jobs is never written, and can be read', async () => {
    expect(await guard.check('cron/jobs.json', 'write', owner)).toMatchObject({
      decision: 'deny',
      reason: /cron tool/,
    });
    expect(await guard.check('cron/jobs.json', 'read', owner)).toMatchObject({ decision: 'allow' });
  });

  test('memory and USER.md are closed to everybody but the owner', async () => {
    await mkdir(join(workspace, 'memory'));
    await writeFile(join(workspace, 'memory', 'MEMORY.md'), 'private');
    for (const who of [trusted, guest]) {
      for (const path of ['memory', 'memory/MEMORY.md', 'USER.md', 'Memory/x']) {
        expect(await guard.check(path, 'read', who)).toMatchObject({ decision: 'deny', reason: /private/ });
        expect(await guard.check(path, 'write', who)).toMatchObject({ decision: 'deny' });
      }
      await expect(readThrough('memory/MEMORY.md', who)).rejects.toThrow(/private/);
      expect((await guard.list('.', who)).entries.map((entry) => entry.name)).not.toContain('memory');
    }
    expect(await readThrough('memory/MEMORY.md')).toBe('private');
  });
});

describe('writing', () => {
  test('creates a file with its parents, for the owner of the process alone', async () => {
    expect(await guard.writeFile('x/y/z.txt', Buffer.from('new'), owner)).toEqual({
      path: join(workspace, 'x/y/z.txt'),
      created: true,
    });
    expect(await readFile(join(workspace, 'x/y/z.txt'), 'utf8')).toBe('new');
    expect((await stat(join(workspace, 'x/y/z.txt'))).mode & 0o777).toBe(0o600);
  });

  test('replaces a file in one step, keeps its mode and leaves nothing beside it', async () => {
    await writeFile(join(workspace, 'run.sh'), 'old', { mode: 0o755 });
    expect(await guard.writeFile('run.sh', Buffer.from('new'), owner)).toMatchObject({ created: false });
    expect((await stat(join(workspace, 'run.sh'))).mode & 0o777).toBe(0o755);
    expect((await readdir(workspace)).sort()).toEqual(['a.txt', 'notes', 'run.sh']);
  });

  test('follows a link within the workspace and keeps the link', async () => {
    await symlink('a.txt', join(workspace, 'b.txt'));
    await guard.writeFile('b.txt', Buffer.from('through'), owner);
    expect(await readFile(join(workspace, 'a.txt'), 'utf8')).toBe('through');
  });

  test('refuses links that lead outside or nowhere, hard links and directories', async () => {
    await symlink(join(root, 'outside', 'secret.txt'), join(workspace, 'l1'));
    await symlink(join(root, 'outside', 'new.txt'), join(workspace, 'l2'));
    await symlink(join(root, 'outside'), join(workspace, 'l3'));
    await link(join(workspace, 'a.txt'), join(workspace, 'hard'));
    const refusals: readonly [string, RegExp][] = [
      ['l1', /outside/],
      ['l2', /outside/],
      ['l3/new.txt', /outside/],
      ['l3/deep/new.txt', /outside/],
      ['hard', /hard links/],
      ['notes', /is a directory/],
      ['a.txt/b', /not a directory|does not exist/],
    ];
    for (const [path, reason] of refusals) {
      await expect(guard.writeFile(path, Buffer.from('x'), owner)).rejects.toThrow(reason);
    }
    expect(await readdir(join(root, 'outside'))).toEqual(['secret.txt']);
    expect(await readFile(join(root, 'outside', 'secret.txt'), 'utf8')).toBe('OUTSIDE');
  });

  test('refuses when the file is not the one that was read', async () => {
    const before = await stat(join(workspace, 'a.txt'));
    await writeFile(join(workspace, 'a.txt'), 'somebody else');
    await expect(guard.writeFile('a.txt', Buffer.from('x'), { ...owner, unchangedSince: before })).rejects.toThrow(
      /changed after it was read/,
    );
    await expect(guard.writeFile('a.txt', Buffer.from('x'), { ...owner, unchangedSince: null })).rejects.toThrow(
      /changed after it was read/,
    );
    await expect(guard.writeFile('gone.txt', Buffer.from('x'), { ...owner, unchangedSince: before })).rejects.toThrow(
      /changed after it was read/,
    );
  });

  test('writes when it is, or when there is still none', async () => {
    const before = await stat(join(workspace, 'a.txt'));
    const written = await guard.writeFile('a.txt', Buffer.from('mine'), { ...owner, unchangedSince: before });
    expect(written.created).toBe(false);
    expect(await readFile(join(workspace, 'a.txt'), 'utf8')).toBe('mine');
    const made = await guard.writeFile('none-yet.txt', Buffer.from('mine'), { ...owner, unchangedSince: null });
    expect(made.created).toBe(true);
  });
});

test('listing tells names, kinds and sizes', async () => {
  await symlink('a.txt', join(workspace, 'b.txt'));
  const { entries } = await guard.list('.', owner);
  expect(entries.sort((a, b) => a.name.localeCompare(b.name))).toEqual([
    { name: 'a.txt', kind: 'file', size: 6 },
    { name: 'b.txt', kind: 'link', size: 0 },
    { name: 'notes', kind: 'directory', size: 0 },
  ]);
  await expect(guard.list('a.txt', owner)).rejects.toThrow('a.txt is not a directory.');
  expect((await guard.list('notes', owner)).path).toBe(join(workspace, 'notes'));
});

import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { array, assert, boolean, constantFrom, property, string, tuple } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { folded } from '../../src/core/security/paths/names.ts';
import { within } from '../../src/core/security/paths/rules.ts';
import { MediaStore } from '../../src/core/storage/media.ts';
import { SpillStore } from '../../src/core/storage/spill.ts';
import { decide, GUEST, listThrough, OWNER, pathWorld, readThrough, TAINTED, writeTo } from '../support/path-world.ts';

describe('the quick ways say the same as the thorough ones', () => {
  const name = constantFrom('a', 'b', 'ab', '.', '..', '', '...', '.a');
  const path = tuple(boolean(), array(name, { maxLength: 5 }), boolean()).map(
    ([root, names, slash]) => `${root ? '/' : ''}${names.join('/')}${slash ? '/' : ''}`,
  );

  test('whether a path lies below another', () => {
    assert(
      property(path, path, (root, one) => {
        const rest = relative(root, one);
        const isBelow = rest === '' || (rest !== '..' && !rest.startsWith('../') && !isAbsolute(rest));
        expect(within(root, one)).toBe(isBelow);
      }),
      { numRuns: 5_000 },
    );
  });

  test('how a name is compared', () => {
    assert(
      property(string({ unit: 'binary-ascii' }), (text) => {
        expect(folded(text)).toBe(folded(`${text}\u200C`));
      }),
    );
  });
});

describe('other spellings of the same place', () => {
  const spellings: readonly ((home: string) => string)[] = [
    (home) => `${home}/config.json`,
    (home) => `/${home}/config.json`,
    (home) => `${home}//config.json`,
    (home) => `${home}/./config.json`,
    (home) => `${home}/config.json/`,
    (home) => `${home}/config.json/.`,
    (home) => `${home}/workspace/../config.json`,
    (home) => `${home}/sessions/../config.json`,
    () => '../config.json',
    () => './/..//config.json',
    () => 'notes/../../config.json',
    () => '~/assistant/config.json',
    () => '~//assistant/./config.json',
    (home) => `${home}/CONFIG.JSON`,
    (home) => `${home}/Config.Json`,
    (home) => `${home.toUpperCase()}/config.json`,
    (home) => `${home}/con\u200Cfig.json`,
    (home) => `${home}/ｃｏｎｆｉｇ.json`,
    (home) => `${home}/SE\u017F\u017FIONS/one.jsonl`,
    (home) => `/proc/self/root${home}/config.json`,
    (home) => `/proc/self/cwd/../..${home}/config.json`,
  ];

  test.each(spellings.map((spelling) => [spelling('HOME'), spelling] as const))(
    '%s is closed, with and without the restriction',
    async (_, spelling) => {
      await using world = await pathWorld();
      await symlink(world.home, join(world.root, 'user', 'assistant'));
      const path = spelling(world.home);
      for (const restrictToWorkspace of [true, false]) {
        const guard = world.guard({ restrictToWorkspace });
        for (const access of ['read', 'write'] as const) {
          expect(await decide(guard, path, access, OWNER)).toMatchObject({ decision: 'deny' });
        }
        await expect(readThrough(guard, path)).rejects.toThrow(/state|outside|system/u);
        await expect(writeTo(guard, path, 'x', OWNER)).rejects.toThrow(/state|outside|system/u);
        await expect(listThrough(guard, path, OWNER)).rejects.toThrow(/state|outside|system/u);
      }
      expect(await readFile(join(world.home, 'config.json'), 'utf8')).toBe('CONFIG');
    },
  );

  test.each(['memory/x', 'MEMORY/x', 'Memory//x', 'mem\u200Bory/x', './notes/../memory/x', 'user.md', 'USER.MD'])(
    '%s is as private as its usual name',
    async (path) => {
      await using world = await pathWorld();
      expect(await decide(world.guard(), path, 'read', GUEST)).toMatchObject({ decision: 'deny', reason: /private/u });
    },
  );

  test.each([
    '.Git/Hooks/pre-commit',
    'sKILLS/x/SKILL.md',
    'ſoul.md',
    'agent\u017F.md',
    'ＳＯＵＬ.md',
    'repo/.git/config',
    'repo/.git/HEAD',
    'repo/.git/objects/info/alternates',
    'repo/.git/rebase-merge/git-rebase-todo',
    'new/HEAD',
    'new/Head',
  ])('%s is as protected as its usual name', async (path) => {
    await using world = await pathWorld();
    expect(await decide(world.guard(), path, 'write', TAINTED)).toMatchObject({ decision: 'ask' });
  });

  test.each(['config', 'hooks/pre-commit', 'commondir', 'objects/x', 'a/b/c'])(
    '%s in a folder with a HEAD, which is a repository to git, is as protected as in .git',
    async (path) => {
      await using world = await pathWorld();
      await mkdir(join(world.workspace, 'deep', 'bare'), { recursive: true });
      expect(await decide(world.guard(), `deep/bare/${path}`, 'write', TAINTED)).toMatchObject({ decision: 'allow' });
      await writeFile(join(world.workspace, 'deep', 'bare', 'HEAD'), 'ref: refs/heads/main\n');
      expect(await decide(world.guard(), `deep/bare/${path}`, 'write', TAINTED)).toMatchObject({ decision: 'ask' });
      expect(await decide(world.guard(), `deep/bare/${path}`, 'write', OWNER)).toMatchObject({ decision: 'allow' });
    },
  );

  test.each(['cron/jobs.json', 'Cron/Jobs.JSON', './cron//jobs.json', 'cron/x/../jobs.json'])(
    '%s is never written',
    async (path) => {
      await using world = await pathWorld();
      expect(await decide(world.guard(), path, 'write', OWNER)).toMatchObject({
        decision: 'deny',
        reason: /cron tool/u,
      });
      await expect(writeTo(world.guard(), path, '[]', OWNER)).rejects.toThrow(/cron tool/u);
    },
  );
});

describe('what is protected under its name', () => {
  test('stays so behind a link', async () => {
    await using world = await pathWorld();
    const { workspace } = world;
    await mkdir(join(workspace, 'vault'));
    await writeFile(join(workspace, 'vault', 'soul.txt'), 'soul');
    await symlink('vault/soul.txt', join(workspace, 'SOUL.md'));
    await mkdir(join(workspace, 'brain'));
    await writeFile(join(workspace, 'brain', 'MEMORY.md'), 'private');
    await symlink('brain', join(workspace, 'memory'));
    const guard = world.guard();
    expect(await decide(guard, 'SOUL.md', 'write', TAINTED)).toMatchObject({ decision: 'ask' });
    await expect(readThrough(guard, 'memory/MEMORY.md', GUEST)).rejects.toThrow(/private/u);
    expect(await listThrough(guard, '.', GUEST)).not.toContain('memory  (link)');
    expect(await readThrough(guard, 'memory/MEMORY.md')).toBe('private');
  });
});

describe('links that lead to nothing', () => {
  test('do not tell whether there is something outside', async () => {
    await using world = await pathWorld();
    const { root, workspace } = world;
    await symlink(join(root, 'outside', 'missing.txt'), join(workspace, 'far'));
    await symlink('far', join(workspace, 'farther'));
    await symlink('missing.txt', join(workspace, 'near'));
    const guard = world.guard();
    for (const path of ['far', 'farther', 'far/x']) {
      expect(await decide(guard, path, 'read', OWNER)).toMatchObject({ decision: 'deny', reason: /outside/u });
      await expect(readThrough(guard, path)).rejects.toThrow(/outside the workspace/u);
    }
    await expect(readThrough(guard, 'near')).rejects.toThrow('near does not exist.');
    expect(await decide(guard, 'near', 'write', OWNER)).toMatchObject({
      decision: 'deny',
      reason: /is a broken link/u,
    });
    await expect(writeTo(guard, 'near', 'x', OWNER)).rejects.toThrow(/is a broken link/u);
  });
});

describe('what is no file', () => {
  test('is denied before it is opened, and nothing waits for it', async () => {
    await using world = await pathWorld();
    execFileSync('sh', ['-c', 'mkfifo pipe; mkdir folder'], { cwd: world.workspace });
    await symlink('pipe', join(world.workspace, 'to-pipe'));
    const guard = world.guard();
    for (const access of ['read', 'write'] as const) {
      for (const path of ['pipe', 'to-pipe']) {
        expect(await decide(guard, path, access, OWNER)).toMatchObject({
          decision: 'deny',
          reason: /not a regular file/u,
        });
      }
    }
    expect(await decide(guard, 'folder', 'write', OWNER)).toMatchObject({ decision: 'deny', reason: /a directory/u });
    expect(await decide(guard, 'folder', 'read', OWNER)).toMatchObject({ decision: 'allow' });
    await expect(listThrough(guard, 'pipe', OWNER)).rejects.toThrow(/not a regular file/u);
  });

  test.skipIf(process.getuid?.() !== 0)('a device in the workspace is refused', async () => {
    await using world = await pathWorld();
    execFileSync('mknod', [join(world.workspace, 'zero'), 'c', '1', '5']);
    await expect(readThrough(world.guard(), 'zero')).rejects.toThrow(/a device, pipe or socket/u);
    await expect(writeTo(world.guard(), 'zero', 'x', OWNER)).rejects.toThrow(/a device, pipe or socket/u);
  });
});

describe('the folders of a session', () => {
  test('its own spill and attachments are read, those of others and the shared ones are not', async () => {
    await using world = await pathWorld();
    const spill = new SpillStore(join(world.home, 'spill'));
    const media = new MediaStore(join(world.home, 'media'));
    const shared = join(world.home, 'media', await media.put(Buffer.from('image')));
    const files: Record<'own' | 'other', readonly string[]> = { own: [], other: [] };
    for (const who of ['own', 'other'] as const) {
      const photo = join(media.folder(who), 'photo.jpg');
      await mkdir(media.folder(who), { recursive: true });
      await writeFile(photo, 'text of own');
      files[who] = [photo, await spill.put(who, 'call', 'text of own')];
    }
    const readRoots = [spill.folder('own'), media.folder('own')];
    // Also where the owner opened the parents for themselves.
    for (const guard of [world.guard(), world.guard({ readRoots: [join(world.home, 'media'), world.home] })]) {
      for (const role of ['guest', 'trusted'] as const) {
        const use = { ...GUEST, role, readRoots };
        for (const path of files.own) expect(await readThrough(guard, path, use)).toBe('text of own');
        for (const path of [...files.other, shared]) {
          await expect(readThrough(guard, path, use)).rejects.toThrow(/configuration or state/u);
        }
        await expect(listThrough(guard, join(world.home, 'media'), use)).rejects.toThrow(/configuration or state/u);
        await expect(writeTo(guard, join(spill.folder('own'), 'x'), 'x', use)).rejects.toThrow(
          /configuration or state/u,
        );
      }
    }
  });

  test('they may lie on another disk', async () => {
    await using world = await pathWorld();
    await mkdir(join(world.root, 'disk'));
    await symlink(join(world.root, 'disk'), join(world.home, 'spill'));
    const spill = new SpillStore(join(world.home, 'spill'));
    const [own, other] = [await spill.put('own', 'call', 'mine'), await spill.put('other', 'call', 'theirs')];
    const use = { ...GUEST, readRoots: [spill.folder('own')] };
    const guard = world.guard({ restrictToWorkspace: false });
    expect(await readThrough(guard, own, use)).toBe('mine');
    await expect(readThrough(guard, other, use)).rejects.toThrow(/configuration or state/u);
  });
});

test.each([
  ['/etc/cron.d/x', 'write', 'ask'],
  ['/etc/systemd/system/x.service', 'write', 'ask'],
  ['/etc/ld.so.preload', 'write', 'ask'],
  ['/var/spool/cron/crontabs/root', 'write', 'ask'],
  ['/usr/local/bin/x', 'write', 'ask'],
  ['~/.bashrc', 'write', 'ask'],
  ['~/.ssh/authorized_keys', 'write', 'ask'],
  ['~/.config/systemd/user/x.service', 'write', 'ask'],
  ['~/.config/autostart/x.desktop', 'write', 'ask'],
  ['~/.gitconfig', 'write', 'ask'],
  ['~/.config/fish/conf.d/x.fish', 'write', 'ask'],
  ['/etc/shadow', 'read', 'ask'],
  ['/run/secrets/token', 'read', 'ask'],
  ['~/.docker/config.json', 'read', 'ask'],
  ['~/.config/gh/hosts.yml', 'read', 'ask'],
  ['~/.profile', 'read', 'ask'],
  ['/etc/hostname', 'read', 'allow'],
  ['~/.gitconfig', 'read', 'allow'],
  ['/usr/share/doc', 'read', 'allow'],
  ['/etc/passwd', 'read', 'allow'],
  ['/tmp/no-such-file/x', 'write', 'allow'],
  ['~/notes.md', 'write', 'allow'],
  ['~/project/etc/cron.d/x', 'write', 'allow'],
  ['~/project/.github/config', 'write', 'allow'],
] as const)('without the restriction %s is for %s: %s', async (path, access, decision) => {
  await using world = await pathWorld();
  expect(await decide(world.guard({ restrictToWorkspace: false }), path, access, OWNER)).toMatchObject({ decision });
  expect(await readdir(world.workspace)).toEqual(['a.txt', 'notes']);
});

describe('a home that lies in that of another assistant', () => {
  test('opens nothing of the outer home, whatever the settings, its read roots and links say', async () => {
    await using world = await pathWorld();
    const { home: host } = world;
    const home = join(host, 'agents', 'kim');
    const workspace = join(home, 'workspace');
    await mkdir(join(workspace), { recursive: true });
    await mkdir(join(host, 'agents', 'lou', 'workspace'), { recursive: true });
    await writeFile(join(host, 'agents', 'lou', 'workspace', 'secret.txt'), 'secret');
    await writeFile(join(host, 'workspace', 'secret.txt'), 'secret');
    await writeFile(join(workspace, 'own.txt'), 'own');
    await symlink(join(host, 'agents', 'lou', 'workspace'), join(workspace, 'linked'));
    const wide = { readRoots: [world.root, host, join(host, 'agents')], restrictToWorkspace: false };
    const own = world.guard({ home, host, workspace, ...wide });
    expect(await readThrough(own, 'own.txt')).toBe('own');
    const closed = [
      join(host, 'workspace', 'secret.txt'),
      join(host, 'agents', 'lou', 'workspace', 'secret.txt'),
      join(host, 'agents', 'nobody', 'file.txt'),
      'linked/secret.txt',
    ];
    for (const path of closed) {
      await expect(readThrough(own, path), path).rejects.toThrow(/configuration or state|does not exist/u);
      expect((await decide(own, path, 'write', OWNER)).decision, path).toBe('deny');
    }
    // A folder that its caller may change cannot be one of them.
    const into = { ...OWNER, roots: [join(host, 'agents', 'lou', 'workspace')] };
    const decision = await decide(own, join(host, 'agents', 'lou', 'workspace', 'new.txt'), 'write', into);
    expect(decision.decision).toBe('deny');
  });

  test('is closed to the assistant that it lies in', async () => {
    await using world = await pathWorld();
    const { home } = world;
    await mkdir(join(home, 'agents', 'kim', 'workspace'), { recursive: true });
    await writeFile(join(home, 'agents', 'kim', 'workspace', 'secret.txt'), 'secret');
    const wide = { readRoots: [world.root, join(home, 'agents')], restrictToWorkspace: false };
    const path = join(home, 'agents', 'kim', 'workspace', 'secret.txt');
    await expect(readThrough(world.guard(wide), path)).rejects.toThrow(/configuration or state/u);
  });
});

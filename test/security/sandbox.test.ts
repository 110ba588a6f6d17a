import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRoot, running, sandboxWorld, type SandboxWorld } from '../support/sandbox-world.ts';
import { tempFolder } from '../support/temp.ts';
import { describeWith } from '../support/test-with.ts';

const PLACES = ['SOUL.md', 'AGENTS.md', 'USER.md', 'TOOLS.md', 'HEARTBEAT.md'];
const FOLDERS = ['memory', 'skills', 'cron'];

describeWith('bubblewrap')('commands in the sandbox', () => {
  let world: SandboxWorld;

  beforeAll(async () => {
    world = await sandboxWorld();
    const { workspace } = world;
    await mkdir(join(workspace, 'memory'));
    await mkdir(join(workspace, 'skills'));
    await writeFile(join(workspace, 'memory', 'MEMORY.md'), 'the owner likes tea\n');
    await writeFile(join(workspace, 'USER.md'), 'the owner lives here\n');
    await writeFile(join(workspace, 'SOUL.md'), 'be kind\n');
    expect(await world.sandbox.probe()).toMatchObject({ available: true });
  });

  afterAll(async () => {
    await world[Symbol.asyncDispose]();
  });

  describe('what they can do', () => {
    test('they write to the workspace, and what they write belongs to the assistant', async () => {
      const { text, code } = await world.run('mkdir -p notes && echo hello > notes/a.txt && cat notes/a.txt');
      expect({ text, code }).toEqual({ text: 'hello\n', code: 0 });
      expect((await lstat(join(world.workspace, 'notes/a.txt'))).uid).toBe(process.getuid?.());
    });

    test('they start in the folder they are given', async () => {
      await mkdir(join(world.workspace, 'sub'), { recursive: true });
      const { text } = await world.run('pwd', { cwd: join(world.workspace, 'sub') });
      expect(text.trim()).toBe(join(world.workspace, 'sub'));
    });

    test('their exit code is handed on', async () => {
      expect((await world.run('exit 7')).code).toBe(7);
    });

    test('they have a private /tmp, a user with a name and no other start of the machine', async () => {
      const { text } = await world.run('echo x > /tmp/a && ls /tmp; id -un; hostname');
      expect(text).toContain('a\n');
      expect(text).toMatch(/assistant\nsandbox\n$/u);
    });

    test('they make a repository and commit to it', async () => {
      await using own = await sandboxWorld();
      const { text, code } = await own.run(
        'git init -q && echo a > a && git add a && git -c user.name=a -c user.email=a@example.org commit -q -m first && git log --format=%s',
      );
      expect({ text, code }).toEqual({ text: 'first\n', code: 0 });
    });

    test('they see skills and the files of their session, and cannot write them', async () => {
      const skill = join(world.home, 'plugins', 'node_modules', 'mine', 'skills');
      const spill = join(world.home, 'spill', 'this');
      for (const folder of [skill, spill]) {
        await mkdir(folder, { recursive: true });
        await writeFile(join(folder, 'a.txt'), 'readable\n');
      }
      const { text } = await world.run(
        `exec 2>&1; cat ${skill}/a.txt ${spill}/a.txt; echo x > ${spill}/a.txt; ls ${dirname(spill)}`,
        {
          readRoots: [skill, spill],
        },
      );
      expect(text).toMatch(/^readable\nreadable\n.*Read-only.*\nthis\n$/u);
    });
  });

  describe('what they cannot do', () => {
    test.each(['chmod 4755 b', 'chmod 2755 b', 'chmod u+s b', 'chmod 06755 b', 'install -m 4755 /bin/true b'])(
      'leave a program with the rights of the assistant: %s',
      async (command) => {
        await world.run(`cp /bin/true b; ${command}`);
        expect((await lstat(join(world.workspace, 'b'))).mode & 0o6000).toBe(0);
      },
    );

    test('read a file beside the workspace', async () => {
      expect((await world.run(`cat ${world.home}/secret`)).text).toContain('No such file');
    });

    test('list the home', async () => {
      expect((await world.run(`ls -A ${world.home}`)).text).toBe('workspace\n');
    });

    test('write a file beside the workspace', async () => {
      await world.run(`echo x > ${world.home}/written; echo x > ${world.workspace}/../written`);
      expect(await readdir(world.home)).not.toContain('written');
    });

    test.each(['/usr/written', '/etc/written', '/written', '/dev/written', '/bin/written', '/var/written'])(
      'write %s',
      async (path) => {
        const { text, code } = await world.run(`echo x > ${path}`);
        expect(code).not.toBe(0);
        expect(text).toMatch(/Read-only|Permission denied/u);
      },
    );

    test('remount anything', async () => {
      const { text } = await world.run(
        `for place in / /usr /proc ${world.workspace}/SOUL.md; do mount -o remount,rw,bind $place && echo escaped; done; umount ${world.workspace}/SOUL.md && echo escaped`,
      );
      expect(text).not.toContain('escaped');
    });

    test('read users and passwords of the machine', async () => {
      const { text } = await world.run('cat /etc/shadow; cat /etc/passwd');
      expect(text).toContain('/etc/shadow: No such file');
      expect(text.split('\n').filter((line) => line.includes(':x:'))).toHaveLength(3);
    });

    test('change settings of the kernel', async () => {
      const { text } = await world.run(
        'for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do : >> $f && echo escaped; done',
      );
      expect(text).not.toContain('escaped');
    });

    test('have any capability, or gain one', async () => {
      const { text } = await world.run('grep -E "Cap(Eff|Prm|Bnd|Amb)|NoNewPrivs" /proc/self/status');
      expect(text.replaceAll(/[ \t]+/gu, ' ')).toBe(
        ['CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => `${name}: 0000000000000000\n`).join('') +
          'NoNewPrivs: 1\n',
      );
    });

    test('see or end a process of the machine', async () => {
      const { text } = await world.run(
        `kill -9 ${process.pid} ${process.ppid}; cat /proc/[0-9]*/cmdline | tr '\\0' ' '`,
      );
      expect(text).not.toContain('vitest');
      expect(process.kill(process.pid, 0)).toBe(true);
    });

    test.each([
      'unshare -U true',
      'unshare -Ur true',
      'bwrap --unshare-user --ro-bind / / true',
      'unshare -m true',
      'chroot / true',
    ])('make a namespace of their own: %s', async (command) => {
      expect((await world.run(`${command} && echo escaped`)).text).not.toContain('escaped');
    });

    test.skipIf(process.arch !== 'x64')("read a key of the assistant's own keyring in the kernel", async () => {
      const child = fileURLToPath(new URL('../support/sandbox-child.ts', import.meta.url));
      await using own = await tempFolder();
      const read = String.raw`my \$b = q( ) x 20; syscall(250, 11, $id, \$b, 20); print \$b`;
      const script = `my ($type, $name, $key) = ("user", "a-key", "a-secret-key");
        my $id = syscall(248, $type, $name, $key, 12, -3);
        my $read = "perl -e '${read}'"; print qx($read), "\n"; $| = 1; exec @ARGV, $read`;
      const { stdout } = spawnSync('perl', ['-e', script, process.execPath, child, own.path], { encoding: 'utf8' });
      const [outside = '', inside = ''] = stdout.split('\n');
      expect(outside).toContain('a-secret-key');
      expect(JSON.parse(inside)).toMatchObject({ available: true, text: expect.not.stringContaining('a-secret-key') });
    });

    test('see a variable of the assistant', async () => {
      process.env['SANDBOX_TEST_CANARY'] = 'a-secret-of-the-parent';
      const { text } = await world.run('env; cat /proc/[0-9]*/environ');
      delete process.env['SANDBOX_TEST_CANARY'];
      expect(text).not.toContain('a-secret-of-the-parent');
      expect(text).not.toContain('SANDBOX_TEST_CANARY');
    });

    test('reach a folder through a descriptor that the assistant was started with', async () => {
      const child = fileURLToPath(new URL('../support/sandbox-child.ts', import.meta.url));
      const script = `exec 33< '${world.home}' 12< '${world.home}' 4< '${world.home}'; exec "$@"`;
      const command = 'ls /proc/self/fd; cat /proc/self/fd/12/secret';
      await using own = await tempFolder();
      const { stdout } = spawnSync('/bin/bash', ['-c', script, 'bash', process.execPath, child, own.path, command], {
        env: {},
        encoding: 'utf8',
      });
      expect(JSON.parse(stdout).text.split('\n').slice(0, 4)).toEqual(['0', '1', '2', '3']);
      expect(stdout).not.toContain('do not read me');
    });
  });

  describe('the environment', () => {
    test('is the given one alone, with every character as it was', async () => {
      const { text } = await world.run('env -0', {
        environment: { PATH: '/usr/bin:/bin', ODD: `a'b"c $HOME \`id\` \\ \n line two`, 'not-a-name': 'x', UID: '3' },
      });
      const variables = Object.fromEntries(
        text
          .split('\0')
          .filter(Boolean)
          .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
      );
      expect(variables['ODD']).toBe(`a'b"c $HOME \`id\` \\ \n line two`);
      expect(
        Object.keys(variables)
          .filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name))
          .sort(),
      ).toEqual(['GIT_TEMPLATE_DIR', 'ODD', 'PATH', 'UID']);
    });

    test('is not in the arguments, which other users can read', async () => {
      const child = await world.start('echo ready; sleep 5', {
        environment: { API_KEY: 'key-of-a-skill', PATH: '/bin' },
      });
      await once(child.stdout, 'data');
      expect(running('echo ready; sleep 5')).toBeGreaterThan(0);
      expect(running('key-of-a-skill')).toBe(0);
      await child.end();
    });

    test('has no power over what runs outside before the sandbox stands', async () => {
      const marker = join(world.home, 'ran-outside');
      const script = join(world.workspace, 'start.sh');
      await writeFile(script, `echo x > ${marker}\n`);
      await world.run('true', {
        environment: { PATH: '/usr/bin:/bin', BASH_ENV: script, ENV: script, LD_PRELOAD: '/nowhere.so' },
      });
      expect(await readdir(world.home)).not.toContain('ran-outside');
    });
  });

  describe('protected places', () => {
    test.each(PLACES)('%s cannot be written, removed, replaced or moved', async (name) => {
      const before = await readFile(join(world.workspace, name), 'utf8');
      await world.run(
        `echo x >> ${name}; rm -f ${name}; mv ${name} moved; echo x > other; mv -f other ${name}; ln -sf other ${name}`,
      );
      expect(await readFile(join(world.workspace, name), 'utf8')).toBe(before);
    });

    test.each(FOLDERS)('nothing can be put into %s, and it cannot be moved away', async (name) => {
      const path = join(world.workspace, name);
      const before = await readdir(path);
      await world.run(
        `echo x > ${name}/planted; mkdir ${name}/deep; mv ${name} moved; rm -rf ${name}; mkdir -p ${name}; echo x > ${name}/planted`,
      );
      expect(await readdir(path)).toEqual(before);
    });

    test.each([...PLACES, ...FOLDERS])('%s cannot be made when it does not exist yet', async (name) => {
      await using empty = await sandboxWorld();
      const folder = FOLDERS.includes(name);
      await empty.run(folder ? `mkdir -p ${name}; echo x > ${name}/planted` : `echo x > ${name}`);
      const path = join(empty.workspace, name);
      if (folder) expect(await readdir(path)).toEqual([]);
      else expect(await readFile(path, 'utf8')).toBe('');
    });

    test('a place that is a link is refused, because it could be replaced', async () => {
      await using linked = await sandboxWorld();
      await mkdir(join(linked.home, 'elsewhere'));
      await symlink(join(linked.home, 'elsewhere'), join(linked.workspace, 'skills'));
      await expect(linked.run('true')).rejects.toThrow(/skills must be a folder .* but it is a link/u);
    });

    test('the owner reads them', async () => {
      expect((await world.run('cat memory/MEMORY.md USER.md')).text).toBe(
        'the owner likes tea\nthe owner lives here\n',
      );
    });

    test.each(['trusted', 'guest'] as const)('whoever is %s sees neither memory nor USER.md', async (role) => {
      const { text } = await world.run(
        'cat memory/MEMORY.md; ls -A memory; cat USER.md; grep -r "the owner" .; cat SOUL.md',
        { role },
      );
      expect(text).not.toContain('the owner');
      expect(text).toContain('be kind');
    });

    test.each(['trusted', 'guest'] as const)('whoever is %s cannot write them either', async (role) => {
      await world.run(
        'echo x > memory/MEMORY.md; echo x > USER.md; mv memory away; mv USER.md away; rm -rf memory USER.md',
        { role },
      );
      expect(await readFile(join(world.workspace, 'USER.md'), 'utf8')).toBe('the owner lives here\n');
      expect(await readdir(join(world.workspace, 'memory'))).toEqual(['MEMORY.md']);
    });

    test('a hard link gives no other way in', async () => {
      const { text } = await world.run('ln SOUL.md other && echo linked; ln memory/MEMORY.md other && echo linked');
      expect(text).not.toContain('linked\n');
    });
  });

  describe('the network', () => {
    let server: Server;
    let connections = 0;
    const dial = (port: number): string => `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}' && echo reached`;
    const port = (): number => {
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : 0;
    };

    beforeAll(async () => {
      server = createServer((socket) => {
        connections += 1;
        socket.destroy();
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    });

    afterAll(() => server.close());

    test('is not there', async () => {
      expect((await world.run(dial(port()))).text).not.toContain('reached');
      expect(connections).toBe(0);
      expect((await world.run('cat /etc/resolv.conf')).text).toContain('No such file');
    });

    test('is there when asked for', async () => {
      expect((await world.run(dial(port()), { network: true })).text).toContain('reached');
    });
  });

  describe('read roots', () => {
    test.each(['/', '/etc', '/proc', '/sys', '/tmp', '/run', '/dev/shm'])('%s opens nothing', async (root) => {
      const { text } = await world.run(`cat /etc/shadow ${world.home}/secret; ls /root /home /sys /var/log`, {
        readRoots: [root],
      });
      expect(text).not.toContain('do not read me');
      expect(text).toContain('/etc/shadow: No such file');
    });

    test('around the home show everything but the home', async () => {
      const { text } = await world.run(
        `cat ${world.home}/secret; ls -A ${world.home}; cat ${world.workspace}/SOUL.md`,
        {
          readRoots: [dirname(world.home)],
        },
      );
      expect(text).not.toContain('do not read me');
      expect(text).toContain('be kind');
    });

    test('the home itself, its state and its sessions stay hidden', async () => {
      await mkdir(join(world.home, 'sessions'), { recursive: true });
      await writeFile(join(world.home, 'sessions/a.jsonl'), 'said before\n');
      const { text } = await world.run(`cat ${world.home}/secret ${world.home}/sessions/a.jsonl`, {
        readRoots: [world.home, join(world.home, 'sessions'), join(world.home, 'sessions/a.jsonl')],
      });
      expect(text).not.toMatch(/do not read me|said before/u);
    });

    test.each(['around', 'in', 'beside'])(
      '%s the home of another assistant, which holds this one, show nothing of it',
      async (where) => {
        await using outer = await sandboxWorld();
        const home = join(outer.home, 'agents/kim');
        const [workspace, spill] = [join(home, 'workspace'), join(home, 'spill/one')];
        for (const folder of [workspace, spill, join(outer.home, 'agents/lou')])
          await mkdir(folder, { recursive: true });
        for (const folder of [spill, join(outer.home, 'agents/lou')]) await writeFile(join(folder, 'a'), 'seen\n');
        const roots = { around: [dirname(outer.home)], in: [join(outer.home, 'agents'), outer.home, home], beside: [] };
        const readRoots = [...roots[where as keyof typeof roots], spill, join(outer.home, 'agents/lou')];
        await using inner = await sandboxWorld({ host: outer.home, home, workspace, readRoots });
        const { text } = await inner.run(
          `cat ${outer.home}/secret ${outer.home}/agents/lou/a ${spill}/a; ls -A ${home}`,
          {
            cwd: workspace,
          },
        );
        expect(text).not.toContain('do not read me');
        expect(text.match(/seen/gu)).toEqual(['seen']);
        expect(text).toContain('spill\nworkspace\n');
      },
    );

    test('do not show credentials that lie in them', async () => {
      await using other = await sandboxWorld();
      await mkdir(join(other.home, '.ssh'));
      await writeFile(join(other.home, '.ssh/id_ed25519'), 'a private key\n');
      await writeFile(join(other.home, '.netrc'), 'a password\n');
      await writeFile(join(other.home, 'plain'), 'plain\n');
      const { text } = await world.run(`cd ${other.home}; cat plain .ssh/id_ed25519 .netrc`, {
        readRoots: [other.home],
      });
      expect(text).toContain('plain\n');
      expect(text).not.toMatch(/a private key|a password/u);
    });
  });

  test('a folder outside the workspace is refused as the place to start', async () => {
    await expect(world.run('true', { cwd: world.home })).rejects.toThrow(/outside the workspace/u);
  });

  test.skipIf(!isRoot)('files of the system that root may read alone stay closed to root', async () => {
    expect((await world.run('cat /etc/gshadow /root/.bashrc /proc/kcore | head -c 10')).text).toMatch(
      /No such file|Permission denied|not permitted/u,
    );
  });
});

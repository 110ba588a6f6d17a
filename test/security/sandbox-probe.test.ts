import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createSandbox } from '../../src/core/security/enclosure/sandbox.ts';
import { probeSandbox, type ProbeOptions, type SandboxProbe } from '../../src/core/security/enclosure/probe.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { BWRAP, fakeBubblewrap, isRoot, sandboxWorld } from '../support/sandbox-world.ts';
import { describeWith } from '../support/test-with.ts';
import { tempFolder } from '../support/temp.ts';

const NO_GROUPS = { root: '/nonexistent', own: '/nonexistent' };

async function probe(options: Partial<ProbeOptions> = {}): Promise<SandboxProbe> {
  await using folder = await tempFolder();
  return await probeSandbox({
    folder: join(folder.path, 'sandbox'),
    clock: systemClock,
    random: systemRandom,
    cgroups: NO_GROUPS,
    ...options,
  });
}

async function probeWith(script: string, options: Partial<ProbeOptions> = {}): Promise<SandboxProbe> {
  await using folder = await tempFolder();
  return await probe({ program: fakeBubblewrap(folder.path, script), ...options });
}

/** The real bwrap with its arguments changed: cases of a shell's `case "$1"`, with what is kept in the array `args`. */
function changed(cases: string): string {
  return `#!/bin/bash
args=()
while [ $# -gt 0 ]; do
  case "$1" in
    --) args+=("$@"); break ;;
    ${cases}
    *) args+=("$1"); shift ;;
  esac
done
exec ${BWRAP} "\${args[@]}"
`;
}

test('several assistants in one process try one bubblewrap once, and again when its file or the limits are others', async () => {
  await using folder = await tempFolder();
  const log = join(folder.path, 'log');
  const script = `#!/bin/bash\necho called >>${log}\nexec ${BWRAP} "$@"\n`;
  const program = fakeBubblewrap(folder.path, script);
  const calls = async (options: Partial<ProbeOptions> = {}): Promise<number> => {
    await rm(log, { force: true });
    expect(await probe({ program, ...options })).toMatchObject({ available: true });
    return existsSync(log) ? 1 : 0;
  };
  expect([await calls(), await calls()]).toEqual([1, 0]);
  expect([await calls({ limits: { openFiles: 300 } }), await calls({ limits: { openFiles: 300 } })]).toEqual([1, 0]);
  fakeBubblewrap(folder.path, `${script}# another\n`);
  expect([await calls(), await calls()]).toEqual([1, 0]);
});

describe('a machine without a working bubblewrap', () => {
  test('one that is not installed is named', async () => {
    expect(await probe({ program: '/nonexistent/bwrap' })).toEqual({
      available: false,
      reason: 'bubblewrap is not installed at /nonexistent/bwrap.',
      remedy: expect.stringMatching(
        /^(?:apt install|dnf install|pacman -S|apk add|zypper install|install the package) bubblewrap$/u,
      ),
    });
  });

  test('one that fails is quoted', async () => {
    expect(await probeWith('#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n')).toEqual({
      available: false,
      reason: expect.stringMatching(/cannot start .*\(No permissions to create new namespace\).*allow them/u),
    });
  });

  test('one that says nothing and succeeds is not believed', async () => {
    expect(await probeWith('#!/bin/sh\nexit 0\n')).toMatchObject({ available: false });
  });

  test('one that hangs ends with the deadline', async () => {
    expect(await probeWith('#!/bin/sh\nsleep 20\n', { timeoutMs: 300 })).toEqual({
      available: false,
      reason: 'The self-test of the sandbox did not end within 0.3 s.',
      late: true,
    });
  });

  test('one that hangs once is tried again', async () => {
    await using folder = await tempFolder();
    const first = join(folder.path, 'first');
    const program = fakeBubblewrap(
      folder.path,
      `#!/bin/bash\n[ -e ${first} ] || { touch ${first} && sleep 20; }\nexec ${BWRAP} "$@"\n`,
    );
    await mkdir(join(folder.path, 'workspace'));
    await using sandbox = createSandbox({
      protectedFolders: [],
      home: folder.path,
      workspace: join(folder.path, 'workspace'),
      readRoots: [],
      folder: join(folder.path, 'sandbox'),
      program,
      clock: systemClock,
      random: systemRandom,
      cgroups: NO_GROUPS,
      timeoutMs: 8_000,
    });
    expect(await sandbox.probe()).toMatchObject({ available: false, late: true });
    expect(await sandbox.probe()).toMatchObject({ available: true });
  });

  test('one that runs the command without any isolation is found out', async () => {
    const leaky = `#!/bin/bash
while [ "$1" != -- ]; do if [ "$1" = --chdir ]; then cd "$2"; fi; shift; done
shift
exec "$@"
`;
    expect(await probeWith(leaky)).toEqual({
      available: false,
      reason: 'The sandbox does not hold: a command inside could write a file outside the workspace.',
    });
  });
});

describeWith('bubblewrap')('the escape test', () => {
  test('finds the sandbox of this machine', async () => {
    expect(await probe()).toMatchObject({ available: true, engine: { program: BWRAP, group: null } });
  });

  test('says what cannot be limited without control groups', async () => {
    const found = await probe();
    const notes = found.available ? found.notes.join('\n') : '';
    expect(notes).toContain('Memory is limited to 2 GiB for each process');
    expect(notes.includes('The number of processes is only looked at from time to time')).toBe(isRoot);
  });

  test('leaves nothing of its test behind', async () => {
    await using folder = await tempFolder();
    await mkdir(join(folder.path, 'test-of-a-process-that-died', 'workspace'), { recursive: true });
    await probe({ folder: folder.path });
    expect(await readdir(folder.path)).toEqual(['empty', 'group', 'passwd']);
  });

  const outside = '"$(dirname "$2")"';
  test.each([
    [
      'write a file outside the workspace',
      `--bind) [ -n "$seen" ] || args+=(--bind ${outside} ${outside}); seen=1; args+=("$1" "$2" "$3"); shift 3 ;;`,
    ],
    [
      'read a file outside the workspace',
      `--bind) [ -n "$seen" ] || args+=(--ro-bind ${outside} ${outside}); seen=1; args+=("$1" "$2" "$3"); shift 3 ;;`,
    ],
    ['connect to a port of the machine', '--unshare-all) args+=("$1" --share-net); shift ;;'],
    ['go on after the assistant ended', '--die-with-parent) shift ;;'],
  ])('finds out one in which a command could %s', async (sentence, cases) => {
    expect(await probeWith(changed(cases))).toEqual({
      available: false,
      reason: `The sandbox does not hold: a command inside could ${sentence}.`,
    });
  });

  test('is not enough where commands cannot work', async () => {
    const rigid = changed(
      '--bind) [ -n "$seen" ] || { seen=1; shift; args+=(--ro-bind); continue; }; args+=("$1"); shift ;;',
    );
    expect(await probeWith(rigid)).toEqual({
      available: false,
      reason: 'A command inside the sandbox cannot write to the workspace.',
    });
  });

  test('is enough where bwrap cannot forbid namespaces, and says so', async () => {
    const old = changed('--disable-userns) echo "bwrap: Unknown option --disable-userns" >&2; exit 1 ;;');
    expect(await probeWith(old)).toMatchObject({
      available: true,
      notes: expect.arrayContaining([expect.stringContaining('Commands can create namespaces of their own')]),
    });
  });

  test('is enough with the name of the machine where no other may be set, as in some containers, and says so', async () => {
    const strict = changed(
      '--hostname) echo "bwrap: Can\'t set hostname to $2: Operation not permitted" >&2; exit 1 ;;',
    );
    expect(await probeWith(strict)).toMatchObject({
      available: true,
      notes: expect.arrayContaining([
        'Commands see the name of this machine, because it does not let them have another.',
      ]),
      engine: { features: ['--disable-userns', '--proc', '/proc'] },
    });
  });

  test('is done once, however often it is asked for', async () => {
    await using world = await sandboxWorld();
    expect(world.sandbox.probe()).toBe(world.sandbox.probe());
  });

  test('keeps a command from starting when it failed', async () => {
    await using world = await sandboxWorld({ program: '/nonexistent/bwrap' });
    await expect(world.run('true')).rejects.toThrow(/bubblewrap is not installed/u);
  });
});

/** Runs `sandbox-child.ts` through other programs. */
async function child(
  before: readonly string[],
  command: string,
  options: { readonly uid?: number } = {},
): Promise<Record<string, unknown>> {
  await using folder = await tempFolder();
  const home = join(folder.path, 'home');
  await mkdir(home);
  if (options.uid !== undefined) {
    await chmod(folder.path, 0o755);
    await chown(home, options.uid, options.uid);
  }
  const script = fileURLToPath(new URL('../support/sandbox-child.ts', import.meta.url));
  const [file, ...args] = [...before, process.execPath, script, home, command];
  const { stdout, stderr } = spawnSync(file, args, {
    encoding: 'utf8',
    cwd: '/',
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  try {
    return JSON.parse(stdout) as Record<string, unknown>;
  } catch {
    throw new Error(`nothing came back: ${stdout}${stderr}`);
  }
}

async function othersMayRead(): Promise<boolean> {
  const script = fileURLToPath(new URL('../support/sandbox-child.ts', import.meta.url));
  for (let path = script; path !== '/'; path = join(path, '..')) {
    if (((await stat(path)).mode & 0o005) < 0o004) return false;
  }
  return true;
}

const noRoot = isRoot ? undefined : 'only root can set this up';
const noNobody = noRoot ?? ((await othersMayRead()) ? undefined : 'other users cannot read this folder');

describeWith('bubblewrap')('other circumstances', () => {
  test.skipIf(noNobody !== undefined)(`an ordinary user has a sandbox too ${noNobody ?? ''}`, async () => {
    const allowed = spawnSync('/bin/sh', ['-c', 'unshare -Ur true'], { uid: 65_534, gid: 65_534 }).status === 0;
    const found = await child(
      [],
      'echo works > a && cat a; id -u; echo x >> SOUL.md; cat /etc/shadow; ulimit -u 2>/dev/null || ulimit -p',
      { uid: 65_534 },
    );
    if (!allowed)
      expect(found).toMatchObject({ available: false, reason: expect.stringContaining('may not create namespaces') });
    else {
      expect(found).toMatchObject({ available: true, features: expect.arrayContaining(['--proc']) });
      expect(found['text']).toMatch(/^works\n1000\n512\n.*SOUL\.md: Read-only.*\n.*No such file.*\n$/u);
    }
  });

  test.skipIf(noRoot !== undefined)(`where /proc is masked commands get none ${noRoot ?? ''}`, async () => {
    const mask =
      'mount --make-rprivate / && mount -t tmpfs -o ro none /proc/acpi || mount -t tmpfs -o ro none /proc/fs; mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys; exec "$@"';
    const found = await child(['unshare', '-m', 'sh', '-c', mask, 'sh'], 'ls /proc; echo works');
    expect(found).toMatchObject({ available: true, text: 'works\n' });
    expect(found['notes']).toContain('Commands see no /proc, because this machine masks its own.');
  });

  test.skipIf(noRoot !== undefined)(
    `without any capability it says so within the deadline ${noRoot ?? ''}`,
    async () => {
      const found = await child(['setpriv', '--bounding-set', '-all', '--inh-caps', '-all'], 'true');
      expect(found).toMatchObject({
        available: false,
        reason: expect.stringContaining('may not create namespaces here'),
      });
    },
  );

  test.skipIf(noRoot !== undefined)(`where user namespaces are switched off it says so ${noRoot ?? ''}`, async () => {
    const off = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"';
    const found = await child(['unshare', '-U', '--map-root-user', 'sh', '-c', off, 'sh'], 'true');
    expect(found).toMatchObject({
      available: false,
      reason: expect.stringContaining('may not create namespaces here'),
    });
  });
});

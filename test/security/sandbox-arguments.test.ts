import { describe, expect, test } from 'vitest';
import { sandboxArguments } from '../../src/core/security/sandbox/arguments.ts';
import { callFilter } from '../../src/core/security/sandbox/filter.ts';
import { DEFAULT_LIMITS, type SandboxEngine, type SandboxProfile } from '../../src/core/security/sandbox/profile.ts';

const HOME = '/home/someone/.assistant';
const WORKSPACE = `${HOME}/workspace`;

const engine: SandboxEngine = {
  program: '/usr/bin/bwrap',
  proc: 'new',
  disableUserns: true,
  hostname: true,
  filter: `${HOME}/sandbox/calls.bpf`,
  groups: [],
  limits: DEFAULT_LIMITS,
};

function build(profile: Partial<SandboxProfile> = {}, changes: Partial<SandboxEngine> = {}): string {
  const whole = sandboxArguments(
    {
      home: HOME,
      workspace: WORKSPACE,
      cwd: WORKSPACE,
      owner: true,
      network: false,
      readRoots: [],
      hidden: [],
      protectedPaths: {
        readOnly: [`${WORKSPACE}/SOUL.md`, `${WORKSPACE}/USER.md`, `${WORKSPACE}/memory`],
        repository: `${WORKSPACE}/.git`,
      },
      environment: { TOKEN: 'a-secret' },
      ...profile,
    },
    { ...engine, ...changes },
  );
  return whole.join(' ');
}

describe('the arguments of bwrap', () => {
  test.each([
    '--unshare-all',
    '--unshare-user',
    '--cap-drop ALL',
    '--clearenv',
    '--die-with-parent',
    '--new-session',
    '--disable-userns',
  ])('always hold %s', (flag) => expect(` ${build()} `).toContain(` ${flag} `));

  test('end with the folder to start in and the mark before the command', () => {
    expect(build()).toMatch(new RegExp(` --chdir ${WORKSPACE} --$`, 'u'));
  });

  test('share the network only when asked, with the names of its servers', () => {
    expect(build()).not.toMatch(/--share-net|resolv\.conf/u);
    expect(build({ network: true })).toMatch(/--share-net .*--ro-bind-try \/etc\/resolv\.conf/u);
  });

  test('never name a variable of the environment', () => {
    expect(build()).not.toContain('a-secret');
  });

  test('open one place for writing, and the repository in it', () => {
    expect(build().match(/--bind \S+/gu)).toEqual([`--bind ${WORKSPACE}`, `--bind ${WORKSPACE}/.git`]);
  });

  test('put the protected places over the workspace, never below it', () => {
    const text = build();
    expect(text.indexOf(`--ro-bind ${WORKSPACE}/SOUL.md`)).toBeGreaterThan(text.indexOf(`--bind ${WORKSPACE} `));
  });

  test('hide memory and USER.md from whoever is not the owner', () => {
    const text = build({ owner: false });
    expect(text).not.toMatch(/--ro-bind \S+\/(?:memory|USER\.md)/u);
    expect(text).toMatch(/--tmpfs \S+\/memory --remount-ro \S+\/memory --ro-bind-data \d \S+\/USER\.md/u);
  });

  test('hide the home again when a read root lies around it', () => {
    const text = build({ readRoots: ['/home/someone', `${HOME}/spill/this`] });
    expect(text).toMatch(
      /--ro-bind-try \/home\/someone \/home\/someone --tmpfs \/home\/someone\/\.assistant --ro-bind-try \S+\/spill\/this .*--bind /u,
    );
  });

  test.each([
    '/',
    '/etc',
    '/proc/1',
    '/sys',
    '/dev/shm',
    '/tmp',
    '/run',
    `${HOME}/sessions`,
    `${HOME}/state.db`,
    `${WORKSPACE}/a`,
  ])('leave out the read root %s', (root) => expect(build({ readRoots: [root] })).toBe(build()));

  test('close what stays writable of the made-up system last', () => {
    expect(build()).toMatch(/--remount-ro \/proc --remount-ro \/dev --remount-ro \/ --chdir/u);
  });

  test('show an empty /proc where an own one is not possible', () => {
    expect(build({}, { proc: 'empty' })).toContain('--tmpfs /proc');
    expect(build({}, { proc: 'empty' })).not.toContain('--proc ');
  });

  test('leave out what the machine does not have', () => {
    const text = build({}, { disableUserns: false, filter: undefined });
    expect(text).not.toMatch(/--disable-userns|--seccomp/u);
  });
});

const ALLOW = 0x7fff0000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;

/** What the kernel would answer to a system call. */
function answer(arch: string, audit: number, number: number, values: readonly number[] = []): number {
  const data = new Map([[0, number], [4, audit], ...values.map((value, i): [number, number] => [16 + 8 * i, value])]);
  const program = callFilter(arch) ?? new Uint8Array();
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  let loaded = 0;
  for (let at = 0; at * 8 < view.byteLength; at += 1) {
    const value = view.getUint32(at * 8 + 4, true);
    const jump = (holds: boolean): number => view.getUint8(at * 8 + (holds ? 2 : 3));
    switch (view.getUint16(at * 8, true)) {
      case 0x20:
        loaded = data.get(value) ?? 0;
        break;
      case 0x15:
        at += jump(loaded === value);
        break;
      case 0x35:
        at += jump(loaded >= value);
        break;
      case 0x45:
        at += jump((loaded & value) !== 0);
        break;
      case 0x06:
        return value;
      default:
        throw new Error(`an instruction that no kernel knows at ${at}`);
    }
  }
  throw new Error('the program has no end');
}

describe('the filter of system calls', () => {
  test.each([
    ['x64', X64, { read: 0, clone: 56, unshare: 272, mount: 165, keyctl: 250, ioctl: 16, setns: 308, chroot: 161 }],
    ['arm64', ARM64, { read: 63, clone: 220, unshare: 97, mount: 40, keyctl: 219, ioctl: 29, setns: 268, chroot: 51 }],
  ])('on %s refuses what leads out and lets the rest pass', (arch, audit, calls) => {
    const ask = (number: number, values?: readonly number[]): number => answer(arch, audit, number, values);
    expect(ask(calls.read)).toBe(ALLOW);
    expect(ask(calls.clone, [0x11])).toBe(ALLOW);
    expect(ask(calls.clone, [0x1000_0011])).toBe(EPERM);
    expect(ask(calls.unshare, [0x400])).toBe(ALLOW);
    expect(ask(calls.unshare, [0x1000_0000])).toBe(EPERM);
    expect(ask(calls.ioctl, [0, 0x5413])).toBe(ALLOW);
    expect(ask(calls.ioctl, [0, 0x5412])).toBe(EPERM);
    for (const number of [calls.mount, calls.keyctl, calls.setns, calls.chroot, 429]) expect(ask(number)).toBe(EPERM);
    for (const number of [425, 435]) expect(ask(number)).toBe(ENOSYS);
  });

  test('knows no system calls of another kind of processor', () => {
    expect(answer('x64', 0x40000003, 0)).toBe(ENOSYS);
    expect(answer('x64', X64, 0x4000_0000)).toBe(ENOSYS);
  });

  test('is not written for processors that are not known', () => {
    expect(callFilter('riscv64')).toBeUndefined();
  });
});

describe('a home that lies in that of another assistant', () => {
  const host = '/home/someone/.assistant';
  const home = `${host}/agents/kim`;
  const workspace = `${home}/workspace`;
  const own = { host, home, workspace, cwd: workspace };

  test('shows of the outer home nothing but read roots of its own', () => {
    const roots = [`${home}/spill/one`, `${host}/agents/lou/workspace`, `${host}/workspace`, `${host}/agents`, host];
    const shown = build({ ...own, readRoots: roots });
    expect(shown).toContain(`--ro-bind-try ${home}/spill/one`);
    for (const closed of roots.slice(1)) expect(shown).not.toContain(`--ro-bind-try ${closed} `);
  });

  test('covers the outer home where a read root contains it', () => {
    const shown = build({ ...own, readRoots: ['/home/someone'] });
    const at = [`--ro-bind-try /home/someone /home/someone`, `--tmpfs ${host} `, `--bind ${workspace}`].map((part) =>
      shown.indexOf(part),
    );
    expect(at.every((place, n) => place > (at[n - 1] ?? -1))).toBe(true);
  });
});

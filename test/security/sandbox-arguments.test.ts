import { describe, expect, test } from 'vitest';
import { sandboxArguments } from '../../src/core/security/enclosure/arguments.ts';
import { callFilter } from '../../src/core/security/enclosure/call-filter.ts';
import type { Mount, SandboxEngine } from '../../src/core/security/enclosure/enclosure.ts';

const engine: SandboxEngine = {
  program: '/usr/bin/bwrap',
  features: ['--disable-userns', '--proc', '/proc'],
  folder: '/home/someone/.assistant/sandbox',
  hasFilter: false,
  group: null,
  limits: { processes: 9, memoryBytes: 9, fileBytes: 9, openFiles: 9, temporaryBytes: 9 },
};

function build(mounts: readonly Mount[] = [], { network = false, features = engine.features } = {}): string {
  return sandboxArguments({ ...engine, features }, { engine, mounts, network }, '/space').join(' ');
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
    expect(build()).toMatch(/ --chdir \/space --$/u);
  });

  test('share the network only when asked, with the names of its servers', () => {
    expect(build()).not.toMatch(/--share-net|resolv\.conf/u);
    expect(build([], { network: true })).toMatch(/--share-net .*--ro-bind-try \/etc\/resolv\.conf/u);
  });

  test('open nothing for writing but what is mounted so, each over those before it', () => {
    expect(build()).not.toMatch(/ --bind/u);
    const mounts: readonly Mount[] = [
      { path: '/roots', as: 'read', isOptional: true },
      { path: '/roots/home', as: 'hidden' },
      { path: '/space', as: 'write' },
      { path: '/space/SOUL.md', as: 'read' },
      { path: '/space/USER.md', as: 'read', from: '/empty' },
    ];
    expect(build(mounts)).toContain(
      '--ro-bind-try /roots /roots --perms 0555 --tmpfs /roots/home --bind /space /space --ro-bind /space/SOUL.md /space/SOUL.md --ro-bind /empty /space/USER.md',
    );
  });

  test('close what stays writable of the made-up system last', () => {
    expect(build([{ path: '/roots/home', as: 'hidden' }])).toMatch(
      /--remount-ro \/roots\/home --remount-ro \/proc --remount-ro \/dev --remount-ro \/ --chdir/u,
    );
  });

  test('show an empty /proc where an own one is not possible', () => {
    expect(build([], { features: [] })).toContain('--tmpfs /proc');
    expect(build()).not.toContain('--tmpfs /proc');
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
    ['x64', X64, { read: 0, clone: 56, unshare: 272, mount: 165, keyctl: 250, setns: 308, chroot: 161 }],
    ['arm64', ARM64, { read: 63, clone: 220, unshare: 97, mount: 40, keyctl: 219, setns: 268, chroot: 51 }],
  ])('on %s refuses what leads out and lets the rest pass', (arch, audit, calls) => {
    const ask = (number: number, values?: readonly number[]): number => answer(arch, audit, number, values);
    expect(ask(calls.read)).toBe(ALLOW);
    expect(ask(calls.clone, [0x11])).toBe(ALLOW);
    expect(ask(calls.clone, [0x1000_0011])).toBe(EPERM);
    expect(ask(calls.unshare, [0x400])).toBe(ALLOW);
    expect(ask(calls.unshare, [0x1000_0000])).toBe(EPERM);
    for (const number of [calls.mount, calls.keyctl, calls.setns, calls.chroot, 429]) expect(ask(number)).toBe(EPERM);
    for (const number of [425, 435, 437]) expect(ask(number)).toBe(ENOSYS);
  });

  test.each([
    [
      'x64',
      X64,
      { chmod: [90, 1], fchmod: [91, 1], fchmodat: [268, 2], fchmodat2: [452, 2], creat: [85, 1], mknod: [133, 1] },
    ],
    ['arm64', ARM64, { fchmod: [52, 1], fchmodat: [53, 2], fchmodat2: [452, 2], mknodat: [33, 2] }],
  ])('on %s refuses set-id bits of a mode', (arch, audit, calls) => {
    for (const [number = 0, place = 0] of Object.values(calls)) {
      const ask = (mode: number): number => answer(arch, audit, number, [...Array(place).fill(0o6000), mode]);
      expect([0o755, 0o1777].map(ask)).toEqual([ALLOW, ALLOW]);
      expect([0o4755, 0o2755, 0o106644].map(ask)).toEqual([EPERM, EPERM, EPERM]);
    }
  });

  test.each([
    ['x64', X64, 2, 1],
    ['x64', X64, 257, 2],
    ['arm64', ARM64, 56, 2],
  ])('on %s refuses set-id bits of a file that is created (%i, %i)', (arch, audit, number, place) => {
    const ask = (flags: number, mode: number): number =>
      answer(arch, audit, number, [...Array(place).fill(0), flags, mode]);
    for (const flags of [0o100, 0o20200000]) expect([ask(flags, 0o644), ask(flags, 0o4755)]).toEqual([ALLOW, EPERM]);
    // Without a new file the kernel reads no mode, and a program may leave anything there.
    expect(ask(0o200000, 0o4755)).toBe(ALLOW);
  });

  test('knows no system calls of another kind of processor', () => {
    expect(answer('x64', 0x40000003, 0)).toBe(ENOSYS);
    expect(answer('x64', X64, 0x4000_0000)).toBe(ENOSYS);
  });

  test('is not written for processors that are not known', () => {
    expect(callFilter('riscv64')).toBeUndefined();
  });
});

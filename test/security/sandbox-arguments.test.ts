import { describe, expect, test } from 'vitest';
import { sandboxArguments } from '../../src/core/security/enclosure/arguments.ts';
import type { Mount, SandboxEngine } from '../../src/core/security/enclosure/enclosure.ts';

const engine: SandboxEngine = {
  program: '/usr/bin/bwrap',
  features: ['--disable-userns', '--proc', '/proc'],
  folder: '/home/someone/.assistant/sandbox',
  group: null,
  limits: { processes: 9, memoryBytes: 9, fileBytes: 9, openFiles: 9, temporaryBytes: 9 },
};

function build(mounts: readonly Mount[] = [], { network = false, features = engine.features } = {}): string {
  return sandboxArguments({ ...engine, features }, { engine, mounts, network }, '/work').join(' ');
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
    expect(build()).toMatch(/ --chdir \/work --$/u);
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
      { path: '/work', as: 'write' },
      { path: '/work/SOUL.md', as: 'read' },
      { path: '/work/USER.md', as: 'read', from: '/empty' },
    ];
    expect(build(mounts)).toContain(
      '--ro-bind-try /roots /roots --perms 0555 --tmpfs /roots/home --bind /work /work --ro-bind /work/SOUL.md /work/SOUL.md --ro-bind /empty /work/USER.md',
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

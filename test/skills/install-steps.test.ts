import { describe, expect, test } from 'vitest';
import { gettingPrograms, readInstallSteps } from '../../src/core/skills/install-steps.ts';

const ALL = { platform: 'linux', has: (_program: string): boolean => true };
const SUDO = process.getuid?.() === 0 ? '' : 'sudo ';

/** How one missing program is got by these entries. */
function getting(install: unknown, options: Partial<typeof ALL> & { readonly program?: string } = {}) {
  const { program = 'gh', ...host } = options;
  return gettingPrograms(readInstallSteps(install), [[program]], { ...ALL, ...host });
}

describe('the install entries of a skill', () => {
  test.each([
    [{ kind: 'brew', formula: 'gh' }, 'brew install gh'],
    [{ kind: 'brew', formula: 'steipete/tap/gh' }, 'brew install steipete/tap/gh'],
    [{ kind: 'brew', cask: 'gh' }, 'brew install --cask gh'],
    [{ kind: 'node', package: '@scope/gh', label: 'Install gh (npm)' }, 'npm install --global @scope/gh'],
    [{ id: 'x', kind: 'go', module: 'github.com/cli/gh/v2@latest' }, 'go install github.com/cli/gh/v2@latest'],
    [{ kind: 'uv', package: 'gh' }, 'uv tool install gh'],
    [{ kind: 'APT', package: 'gh' }, `${SUDO}apt-get install --yes gh`],
    [{ kind: 'dnf', package: 'gh' }, `${SUDO}dnf install --assumeyes gh`],
    [{ kind: 'cargo', crate: 'gh' }, 'cargo install gh'],
    [{ type: 'pipx', package: 'gh' }, 'pipx install gh'],
    [{ brew: 'gh' }, 'brew install gh'],
  ])('%j is the command %j', (entry, command) => {
    expect(getting([entry])).toEqual({ commands: [command], reasons: [] });
  });

  test.each([
    [
      'a download',
      { kind: 'download', url: 'https://x.example/gh.tar.gz' },
      /^It is a download from https:\/\/x\.example/u,
    ],
    ['an odd download', { kind: 'download', url: 'https://x.example/$(id)' }, /^It is a download, which the owner/u],
    ['another kind', { kind: 'nix', package: 'gh' }, /^The way nix to install programs is not supported\.$/u],
    ['a kind of an odd name', { kind: 'a b; c', package: 'gh' }, /^The way of an odd name to/u],
    ['nothing', undefined, /^The skill does not say how to get gh on this system\.$/u],
    ['words alone', 'brew install gh', /^The skill does not say/u],
    ['another program', { kind: 'brew', formula: 'x', bins: ['x'] }, /^The skill does not say/u],
    ['another system', { kind: 'brew', formula: 'gh', os: ['macos'] }, /^The skill does not say/u],
  ])('%s is a sentence', (_what, entry, sentence) => {
    const { commands, reasons } = getting(entry);
    expect([commands, reasons.length]).toEqual([[], 1]);
    expect(reasons[0]).toMatch(sentence);
  });

  test.each([
    'gh;id',
    'gh&&id',
    '$(id)',
    '`id`',
    '--version',
    '-g',
    '../gh',
    'https://x.example/gh.tgz',
    'gh|sh',
    "g'h",
    'g\\h',
    'g>h',
    'file:gh',
  ])('make no command of the package %j', (name) => {
    for (const entry of [
      { kind: 'node', package: name },
      { kind: 'brew', formula: name },
      { kind: 'go', module: name },
    ]) {
      expect(getting([entry]).commands).toEqual([]);
    }
  });

  test('count in their order, as far as their managers are here', () => {
    const entries = [
      { kind: 'brew', formula: 'gh', os: ['darwin'] },
      { kind: 'uv', package: 'gh' },
      { kind: 'apt', package: 'gh' },
    ];
    expect(getting(entries, { platform: 'darwin' }).commands).toEqual(['brew install gh']);
    expect(getting(entries, { has: (program) => program !== 'uv' }).commands).toEqual([
      `${SUDO}apt-get install --yes gh`,
    ]);
    expect(getting(entries, { has: () => false })).toEqual({
      commands: [],
      reasons: ['It is installed with uv, which is not here.', 'It is installed with apt-get, which is not here.'],
    });
  });

  test('give each missing program its command, once', () => {
    const steps = readInstallSteps([
      { kind: 'brew', formula: 'both', bins: ['a', 'b'] },
      { kind: 'node', package: 'c', bins: ['c'] },
    ]);
    expect(gettingPrograms(steps, [['a'], ['b'], ['x', 'c']], ALL).commands).toEqual([
      'brew install both',
      'npm install --global c',
    ]);
  });
});

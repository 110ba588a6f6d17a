import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { launcherScript, type InstalledProgram } from '../../src/service/launcher-script.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { writeProgram } from '../support/program-file.ts';

const LAUNCHER = fileURLToPath(new URL('../../src/launcher.cjs', import.meta.url));

/** A Node of this major version: it answers the launcher's question and else says how it was called. */
function fakeNode(path: string, major: number): string {
  return writeProgram(
    path,
    `#!/bin/sh\n[ "$1" = -e ] && exit ${major >= 24 ? 0 : 1}\necho "${major}: $*"\nenv | grep _KEY\ntrue\n`,
  );
}

function program(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(LAUNCHER, path);
  return path;
}

function start(
  installed: InstalledProgram,
  { variables = null as string | null, path = '/usr/bin:/bin', args = [] as string[] } = {},
) {
  const script = writeProgram(join(temporaryFolder(), 'run'), launcherScript(installed, variables));
  const { status, stdout, stderr } = spawnSync(script, args, {
    encoding: 'utf8',
    env: { PATH: path, HOME: '/nowhere' },
  });
  return { status, stdout, stderr };
}

describe('the launcher of the service', () => {
  test('starts the gateway with the Node and the program of the installation', () => {
    const folder = join(temporaryFolder(), "it's here");
    const installed = { node: fakeNode(join(folder, 'node'), 24), program: program(join(folder, 'launcher.cjs')) };
    expect(start(installed)).toEqual({
      status: 0,
      stdout: `24: --max-semi-space-size=4 ${installed.program} gateway\n`,
      stderr: '',
    });
    expect(start(installed, { args: ['--check'] }).stdout).toBe(`${installed.node}\n${installed.program}\n`);
  });

  test('gives glibc two arenas of memory, or as many as the variables of the service say', () => {
    const folder = temporaryFolder();
    const node = writeProgram(join(folder, 'node'), '#!/bin/sh\n[ "$1" = -e ] || echo "$MALLOC_ARENA_MAX"\n');
    const installed = { node, program: program(join(folder, 'launcher.cjs')) };
    expect(start(installed).stdout).toBe('2\n');
    const variables = join(folder, 'environment');
    writeFileSync(variables, 'MALLOC_ARENA_MAX=5\n');
    expect(start(installed, { variables }).stdout).toBe('5\n');
  });

  test('finds both again when a version manager has put another version in their place', () => {
    const folder = temporaryFolder();
    const at = (version: string): InstalledProgram => ({
      node: join(folder, 'versions/node', version, 'bin/node'),
      program: join(folder, 'versions/node', version, 'lib/node_modules/assistantd/dist/launcher.cjs'),
    });
    const before = at('v24.1.0');
    fakeNode(at('v18.20.1').node, 18);
    fakeNode(before.node, 24);
    program(before.program);
    expect(start(before).stdout).toBe(`24: --max-semi-space-size=4 ${before.program} gateway\n`);
    renameSync(join(folder, 'versions/node/v24.1.0'), join(folder, 'versions/node/v26.0.2'));
    const { node, program: found } = at('v26.0.2');
    expect(start(before, { args: ['--check'] }).stdout).toBe(`${node}\n${found}\n`);
  });

  test('finds the program again in the store of a package manager after an update', () => {
    const folder = temporaryFolder();
    const stored = (version: string): string =>
      join(folder, `.pnpm/assistantd@${version}/node_modules/assistantd/dist/launcher.cjs`);
    const now = program(stored('0.2.0'));
    const node = fakeNode(join(folder, 'node'), 24);
    expect(start({ node, program: stored('0.1.0') }, { args: ['--check'] }).stdout).toBe(`${node}\n${now}\n`);
  });

  test('looks on the PATH, and takes no older Node and no other program of that name', () => {
    const folder = temporaryFolder();
    const [first, second] = [join(folder, 'first'), join(folder, 'second')];
    writeProgram(join(first, 'assistant'), '#!/bin/sh\n');
    const node = fakeNode(join(first, 'node'), 24);
    const gone = { node: '/nowhere/node', program: '/nowhere/launcher.cjs' };
    const path = `${first}:/usr/bin:/bin`;
    expect(start(gone, { path })).toEqual({
      status: 72,
      stdout: '',
      stderr:
        'assistant: the program was not found. Install it again (docs/install.md) and run: npm run assistant -- service install\n',
    });
    const real = program(join(folder, 'lib/launcher.cjs'));
    mkdirSync(second);
    symlinkSync(real, join(second, 'assistant'));
    expect(start(gone, { path: `${second}:${path}`, args: ['--check'] }).stdout).toBe(`${node}\n${real}\n`);
    fakeNode(join(first, 'node'), 22);
    const { status, stderr } = start(gone, { path: `${first}:${second}` });
    expect({ status, stderr }).toEqual({
      status: 72,
      stderr:
        'assistant: Node 24 or newer was not found. Install it (https://nodejs.org) and run: npm run assistant -- service install\n',
    });
  });

  test('reads the variables for launchd, and runs nothing of them', () => {
    const folder = temporaryFolder();
    const variables = join(folder, 'service.env');
    writeFileSync(variables, `# A_KEY=1\nB_KEY="two words"\nC_KEY=$(touch ${folder}/ran)\nnot a name_KEY=3\nD_KEY='4'`);
    const installed = { node: fakeNode(join(folder, 'node'), 24), program: program(join(folder, 'launcher.cjs')) };
    const lines = start(installed, { variables }).stdout.trim().split('\n').slice(1);
    expect(lines.toSorted()).toEqual(['B_KEY=two words', `C_KEY=$(touch ${folder}/ran)`, 'D_KEY=4']);
  });
});

import { execFile } from 'node:child_process';
import { chown, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { childEnvironment } from '../support/child-environment.ts';
import { temporaryFolder } from '../config/temporary-home.ts';

const LAUNCHER = fileURLToPath(new URL('../../src/launcher.cjs', import.meta.url));
const run = promisify(execFile);
const POINTER = { version: '1.1.0', from: '1.0.0', isConfirmed: true };

class Installation {
  readonly folder = temporaryFolder();
  readonly home = join(this.folder, '.assistant');
  readonly #installed = join(this.folder, 'lib', 'node_modules', 'assistantd');

  static async make(pointer?: unknown): Promise<Installation> {
    const made = new Installation();
    await program(made.#installed, { version: '1.0.0', says: 'installed' });
    await cp(LAUNCHER, join(made.#installed, 'dist', 'launcher.cjs'));
    await program(join(made.home, 'programs', '1.1.0', 'node_modules', 'assistantd'), {
      version: '1.1.0',
      says: 'upgraded',
    });
    if (pointer !== undefined) await made.point(pointer);
    return made;
  }

  point(pointer: unknown): Promise<void> {
    const text = typeof pointer === 'string' ? pointer : JSON.stringify(pointer);
    return writeFile(join(this.home, 'programs', 'current.json'), text);
  }

  /** Which program a command line starts. */
  async starts(words: readonly string[] = ['status'], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const launcher = join(this.#installed, 'dist', 'launcher.cjs');
    const { stdout } = await run(process.execPath, [launcher, ...words], {
      env: childEnvironment({ HOME: this.folder, ...env }),
    });
    return stdout.trim();
  }
}

async function program(folder: string, { version, says }: { version: string; says: string }): Promise<void> {
  await mkdir(join(folder, 'dist'), { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'assistantd', version, type: 'module' }));
  await writeFile(join(folder, 'dist', 'main.js'), `console.log(${JSON.stringify(says)});`);
}

test('the launcher starts the program that an upgrade of the home chose, for every way to name the home', async () => {
  const machine = await Installation.make(POINTER);
  expect(await machine.starts()).toBe('upgraded');
  const elsewhere = { HOME: '/nowhere' };
  expect(await machine.starts(['status'], elsewhere)).toBe('installed');
  expect(await machine.starts(['status', '--home', machine.home], elsewhere)).toBe('upgraded');
  expect(await machine.starts([`--home=${machine.home}`, 'status'], elsewhere)).toBe('upgraded');
  expect(await machine.starts(['status'], { ...elsewhere, ASSISTANT_HOME: machine.home })).toBe('upgraded');
  expect(await machine.starts(['status', '--home', '~/.assistant'])).toBe('upgraded');
});

test.each([
  ['nothing was chosen', undefined],
  ['npm installed another version since', { ...POINTER, from: '0.9.0' }],
  ['the chosen one is gone', { ...POINTER, version: '1.2.0' }],
  ['the choice leads elsewhere', { ...POINTER, version: '1.1.0/../1.1.0' }],
  ['the choice cannot be read', '{ "version": "1.1'],
])('the launcher starts the program beside it when %s', async (_when, pointer) => {
  expect(await (await Installation.make(pointer)).starts()).toBe('installed');
});

test.skipIf(process.getuid?.() !== 0)('the launcher runs no program that another user chose', async () => {
  const machine = await Installation.make(POINTER);
  await chown(join(machine.home, 'programs', 'current.json'), 12_345, 12_345);
  expect(await machine.starts()).toBe('installed');
});

test('a program that nobody confirmed has three starts as a gateway, and then no command starts it', async () => {
  const machine = await Installation.make({ ...POINTER, isConfirmed: false });
  for (let n = 0; n < 3; n += 1) {
    expect(await machine.starts()).toBe('upgraded');
    expect(await machine.starts(['gateway'])).toBe('upgraded');
  }
  expect(await machine.starts(['gateway'])).toBe('installed');
  expect(await machine.starts()).toBe('installed');
  await machine.point(POINTER);
  expect(await machine.starts(['gateway'])).toBe('upgraded');
  await rm(join(machine.home, 'programs'), { recursive: true });
  expect(await machine.starts(['gateway'])).toBe('installed');
});

test('a gateway of many homes gets more space for new objects, and no other command does', async () => {
  const machine = await Installation.make(POINTER);
  const told = 'console.log(process.execArgv.join(" "), process.argv.slice(2).join(" "))';
  await writeFile(join(machine.home, 'programs', '1.1.0', 'node_modules', 'assistantd', 'dist', 'main.js'), told);
  await writeFile(join(machine.home, 'config.json'), '{"homes": {"enabled": false}}');
  expect(await machine.starts(['gateway', '--plain'])).toBe('gateway --plain');
  await writeFile(
    join(machine.home, 'config.json'),
    '{\n  // All of them.\n  "homes": { "max": 400, "enabled": true },\n}',
  );
  expect(await machine.starts(['status'])).toBe('status');
  expect(await machine.starts(['gateway', '--plain'])).toBe('--max-semi-space-size=32 gateway --plain');
  const elsewhere = { HOME: '/nowhere', NODE_OPTIONS: '--no-warnings' };
  const started = await machine.starts(['--home', machine.home, 'gateway'], elsewhere);
  expect(started).toMatch(/^--max-semi-space-size=32 --home \S+ gateway$/u);
});

test('a start of a program on trial counts once, with many homes too', async () => {
  const machine = await Installation.make({ ...POINTER, isConfirmed: false });
  await writeFile(join(machine.home, 'config.json'), '{"homes": {"enabled": true}}');
  expect(await machine.starts(['gateway'])).toBe('upgraded');
  expect(await readFile(join(machine.home, 'programs', 'starts'), 'utf8')).toBe('.');
});

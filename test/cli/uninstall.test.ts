import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { acquireHomeLock } from '../../src/core/storage/lock.ts';
import { ServiceMachine } from '../service/fake-systemd.ts';

function furnish(home: string): void {
  for (const folder of ['sessions', 'workspace']) mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(join(home, 'config.json'), '{}');
}

async function machineWithService(): Promise<ServiceMachine> {
  const machine = new ServiceMachine();
  expect(await machine.line.run('service', 'install')).toBe(0);
  furnish(machine.home);
  machine.line.out = '';
  return machine;
}

const isInstalled = ({ userHome }: ServiceMachine): boolean =>
  existsSync(join(userHome, '.config/systemd/user/assistant.service'));

describe('uninstall', () => {
  test('removes the service, keeps the home, and says how to remove that and the program', async () => {
    const machine = await machineWithService();
    const { line, home } = machine;
    expect(await line.run('uninstall')).toBe(0);
    expect(isInstalled(machine)).toBe(false);
    expect(existsSync(join(home, 'config.json'))).toBe(true);
    expect(line.out).toMatch(/^The service is removed\.\nThe home stays: \S+\. It holds/u);
    expect(line.out).toContain('uninstall --purge\nThe program stays until you run: rm -r ');
  });

  test('names npm for a program that npm installed, where there is no service', async () => {
    const { line } = new ServiceMachine();
    line.host = { ...line.host, program: '/usr/lib/node_modules/assistantd/dist/launcher.cjs' };
    expect(await line.run('uninstall')).toBe(0);
    expect(line.out).toMatch(
      /^No service is installed\.\nThe program stays until you run: npm uninstall -g assistantd\n/u,
    );
  });

  test('leaves the service of another home alone', async () => {
    const machine = await machineWithService();
    const other = join(machine.folder, 'other');
    furnish(other);
    expect(await machine.line.run('uninstall', '--home', other, '--purge', '--yes')).toBe(0);
    expect(machine.line.out).toContain(`The service runs another home, ${machine.home}, and stays.`);
    expect(isInstalled(machine)).toBe(true);
    expect([existsSync(other), existsSync(machine.home)]).toEqual([false, true]);
  });
});

describe('uninstall --purge', () => {
  test('deletes the home after its path was typed, and nothing after anything else', async () => {
    const machine = await machineWithService();
    const { line, home } = machine;
    for (const stream of [line.stdin, line.stdout, line.stderr]) stream.isTTY = true;
    const refused = line.run('uninstall', '--purge');
    line.type('yes\n');
    expect(await refused).toBe(1);
    expect(line.out).toContain(`This deletes ${home} for good: memory, conversations, keys. To go on, type its path:`);
    expect([existsSync(home), isInstalled(machine)]).toEqual([true, true]);
    const agreed = line.run('uninstall', '--purge');
    line.type(`${home}\n`);
    expect(await agreed).toBe(0);
    expect([existsSync(home), isInstalled(machine)]).toEqual([false, false]);
    expect(line.out).toContain(`${home} is deleted.`);
  });

  test('deletes nothing where nobody can be asked', async () => {
    const machine = await machineWithService();
    expect(await machine.line.run('uninstall', '--purge')).toBe(1);
    expect(machine.line.err).toContain('add --yes to the command');
    expect([existsSync(machine.home), isInstalled(machine)]).toEqual([true, true]);
  });

  test('deletes nothing while an assistant runs in it', async () => {
    const machine = new ServiceMachine();
    furnish(machine.home);
    using _lock = acquireHomeLock(homePaths(machine.home).lock, { pid: process.pid, startedAt: 0 });
    expect(await machine.line.run('uninstall', '--purge', '--yes')).toBe(1);
    expect(machine.line.err).toContain(`An assistant still runs in ${machine.home} (process ${process.pid}).`);
    expect(existsSync(machine.home)).toBe(true);
  });

  test('deletes no folder that is not a home, or that holds more than one', async () => {
    const { line, folder, userHome } = new ServiceMachine();
    const films = join(folder, 'films');
    mkdirSync(films);
    writeFileSync(join(films, 'config.json'), '{}');
    furnish(userHome);
    for (const place of [films, userHome, folder, '/']) {
      line.err = '';
      expect(await line.run('uninstall', '--purge', '--yes', '--home', place)).toBe(1);
      expect(line.err).toContain(`${place} is not the home of an assistant alone, so it is not deleted.`);
    }
    expect([existsSync(films), existsSync(userHome)]).toEqual([true, true]);
  });
});

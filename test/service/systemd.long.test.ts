import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyPackage, npm, pack } from '../support/packages.ts';
import { waitFor } from '../support/wait.ts';
import { noSystemd, SystemdMachine } from './systemd-machine.ts';

const HOME = '/var/lib/assistant/.assistant';

describe.skipIf(noSystemd !== undefined)('the service of the machine under a real systemd', () => {
  let prefix: string;
  let machine: SystemdMachine;
  const isRunning = async (): Promise<boolean> => (await machine.property('ActiveState')) === 'active';
  /** Waits until systemd has started the service anew, and returns after how many seconds. */
  const startedAnew = async (before: string, timeoutMs: number): Promise<number> => {
    const begun = performance.now();
    const isAnew = async (): Promise<boolean> => (await machine.property('MainPID')) !== before && (await isRunning());
    await waitFor(isAnew, { timeoutMs, what: 'the service' });
    return (performance.now() - begun) / 1_000;
  };

  beforeAll(async () => {
    prefix = await mkdtemp(join(tmpdir(), 'assistant-prefix-'));
    await chmod(prefix, 0o755);
    const source = join(prefix, 'source');
    await copyPackage(source);
    await npm(prefix, 'install', '--global', '--prefix', prefix, await pack(source));
    await rm(source, { recursive: true });
    await cp(process.execPath, join(prefix, 'bin', 'node'));
    machine = await SystemdMachine.start(prefix);
    expect(await machine.run('assistant', 'service', 'install', '--system')).toMatchObject({ code: 0, err: '' });
  }, 300_000);

  afterAll(async () => {
    await machine[Symbol.asyncDispose]();
    await rm(prefix, { recursive: true, force: true });
  });

  test('is ready when it answers, and says with what', async () => {
    expect(await machine.property('StatusText')).toBe('demo/scripted, no chat platform');
    expect(await machine.property('NRestarts')).toBe('0');
    const { out } = await machine.run('assistant', 'service', 'status');
    expect(out).toMatch(/^running\nstate {5}active \(running\), since /u);
    expect(out).toContain('enabled   yes');
    const asked = await machine.run(
      'node',
      '-e',
      "fetch('http://127.0.0.1:18790/health').then((r) => r.ok || process.exit(1))",
    );
    expect(asked).toMatchObject({ code: 0 });
  });

  test('runs commands in the sandbox, which may write nothing but the workspace', async () => {
    const said = await machine.asAssistant(
      "assistant chat -m 'run touch /usr/mine mine; ls mine; cat /etc/shadow; true'",
    );
    expect(said).toContain('Done: ran touch /usr/mine');
    expect(said).toContain("cannot touch '/usr/mine': Read-only file system");
    expect(said).toMatch(/^ *mine$/mu);
    expect(said).toContain('/etc/shadow: No such file');
    expect((await machine.run('assistant', 'service', 'logs')).out).not.toContain('"level":40');
  });

  test('a command that takes too much memory ends alone', async ({ skip }) => {
    skip(!machine.limitsMemory, 'this machine has no memory controller of version 2');
    const before = await machine.property('MainPID');
    const said = await machine.asAssistant("assistant chat -m 'run tail /dev/zero'");
    expect(said).toContain('memory');
    expect(await machine.property('MainPID')).toBe(before);
  });

  test('is started anew after a crash', async () => {
    const before = await machine.property('MainPID');
    await machine.run('kill', '-KILL', before);
    await startedAnew(before, 40_000);
    expect(await machine.property('NRestarts')).toBe('1');
  });

  test('is ended and started anew after 60 seconds without a sign of life', async () => {
    const before = await machine.property('MainPID');
    await machine.run('kill', '-STOP', before);
    expect(await startedAnew(before, 120_000)).toBeGreaterThan(35);
    expect(await machine.property('NRestarts')).toBe('2');
    expect((await machine.run('assistant', 'service', 'logs')).out).toContain('Watchdog timeout (limit 1min)!');
  });

  test('stops within 10 seconds in the middle of a turn', async () => {
    const talk = machine.asAssistant("assistant chat -m 'run sleep 300'");
    await waitFor(async () => (await machine.run('pgrep', '-x', 'sleep')).code === 0, { what: 'the command' });
    const begun = performance.now();
    expect(await machine.run('assistant', 'service', 'stop')).toMatchObject({ code: 0, err: '' });
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(await machine.property('Result')).toBe('success');
    expect((await machine.run('pgrep', '-x', 'sleep')).code).toBe(1);
    expect(await talk).toContain('The assistant is stopping. It continues with this when it runs again.');
  });

  test('names the check of a configuration that cannot run, and is not tried again', async () => {
    await machine.asAssistant(`cp ${HOME}/config.json ${HOME}/kept; echo '{"agent":3}' >${HOME}/config.json`);
    const { code, err } = await machine.run('assistant', 'service', 'start');
    expect(code).toBe(1);
    expect(err.replaceAll(/\s+/gu, ' ')).toContain(
      `its configuration cannot run. See what is wrong with: assistant config check --home ${HOME}`,
    );
    expect(await machine.property('ActiveState')).toBe('failed');
    expect((await machine.run('assistant', 'config', 'check', '--home', HOME)).out).toContain('agent');
    await machine.asAssistant(`mv ${HOME}/kept ${HOME}/config.json`);
    expect(await machine.run('assistant', 'service', 'restart')).toMatchObject({ code: 0, err: '' });
    expect(await isRunning()).toBe(true);
  });

  test('uninstall leaves the home and nothing else', async () => {
    expect(await machine.run('assistant', 'service', 'uninstall')).toMatchObject({ code: 0, err: '' });
    expect(await machine.property('LoadState')).toBe('not-found');
    expect((await machine.run('ls', '/usr/local/lib/assistant')).code).not.toBe(0);
    expect(await machine.asAssistant(`ls ${HOME}`)).toContain('state.db');
  });
});

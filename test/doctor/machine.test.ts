import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { safeModeFinding } from '../../src/core/start/safe-mode.ts';
import { warning } from '../../src/core/util/finding.ts';
import { acquireHomeLock } from '../../src/core/storage/lock.ts';
import { INFO } from '../gateway/fake-assistant.ts';
import { ServiceMachine } from '../service/fake-systemd.ts';
import { describeWith } from '../support/test-with.ts';
import { writeProgram } from '../support/program-file.ts';
import { whyNoSmallDisks } from '../support/small-disk.ts';
import { doctor, faults, furnishedHome, put, startStub, withJournal, type Report, type Row } from './doctor-home.ts';

function rowOf({ checks }: Report, id: string): Row | undefined {
  return checks.find((row) => row.id === id);
}

/** A machine whose folders of the system are those of the test. */
async function machine(): Promise<Awaited<ReturnType<typeof furnishedHome>> & { readonly root: string }> {
  const made = await furnishedHome();
  const root = join(made.line.home, '..', `${made.line.home.split('/').at(-1) ?? ''}-root`);
  mkdirSync(root, { recursive: true });
  made.line.host = { ...made.line.host, root };
  return { ...made, root };
}

describe('assistant doctor tells why there is no sandbox', () => {
  test('bubblewrap is not installed', async () => {
    const { line } = await machine();
    const row = rowOf(await doctor(line), 'sandbox.works');
    expect(row?.state).toBe('warning');
    expect(row?.evidence).toContain('bubblewrap is not installed');
    expect(row?.remedy).toMatch(
      /^(?:sudo (?:apt install|dnf install|pacman -S|apk add|zypper install)|install the package) bubblewrap$/u,
    );
  });

  test.each([
    [
      'kernel/apparmor_restrict_unprivileged_userns',
      '1',
      'sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
    ],
    ['kernel/unprivileged_userns_clone', '0', 'sudo sysctl -w kernel.unprivileged_userns_clone=1'],
    ['user/max_user_namespaces', '0', 'sudo sysctl -w user.max_user_namespaces=15000'],
  ])('the kernel forbids it by %s', async (name, value, remedy) => {
    const { line, root } = await machine();
    writeProgram(
      join(root, 'usr/bin/bwrap'),
      '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n',
    );
    put(join(root, 'proc/sys', name), `${value}\n`);
    expect(rowOf(await doctor(line), 'sandbox.works')).toMatchObject({
      state: 'warning',
      evidence: expect.stringContaining('setting up uid map: Permission denied'),
      remedy,
    });
  });
});

describeWith('bubblewrap')('assistant doctor tells whether commands can work on a view of the workspace', () => {
  const isRoot = process.getuid?.() === 0;
  const viewRow = ({ checks }: Report): Row | undefined => checks.findLast(({ id }) => id === 'sandbox.works');

  test('nothing stands in the way', async () => {
    const { line } = await furnishedHome();
    expect(viewRow(await doctor(line))).toMatchObject({
      state: 'ok',
      evidence: 'Nothing stands in the way of copy-on-write views of the workspace.',
    });
  });

  test.skipIf(!isRoot)("they can't while something is mounted inside the workspace", async () => {
    const { line, paths } = await furnishedHome();
    const inside = join(realpathSync(paths.workspace), 'disk');
    mkdirSync(inside);
    execFileSync('mount', ['-t', 'tmpfs', 'none', inside]);
    try {
      expect(viewRow(await doctor(line))).toMatchObject({
        state: 'note',
        evidence: expect.stringContaining(`because ${inside} is a mount inside the workspace`),
        remedy: 'Mount it elsewhere',
      });
    } finally {
      execFileSync('umount', [inside]);
    }
  });
});

describe('assistant doctor looks at the installed service', () => {
  async function installed(): Promise<ServiceMachine> {
    const service = new ServiceMachine();
    delete (service.line.env as Record<string, string>)['ANTHROPIC_API_KEY'];
    await furnishedHome({}, service.line);
    expect(await service.line.run('service', 'install'), service.line.err).toBe(0);
    service.state('loaded', 'active');
    return service;
  }

  test('and finds a unit that was changed, and the end at a logout; the commands mend both', async () => {
    const service = await installed();
    const { line, userHome } = service;
    writeFileSync(
      join(userHome, '.config/systemd/user/assistant.service'),
      `[Service]\nEnvironment=ASSISTANT_HOME=${service.home}\n`,
    );
    service.program('loginctl', 'case "$1" in show-user) echo no ;; esac');
    const report = await doctor(line);
    expect(rowOf(report, 'service.unit')).toMatchObject({
      state: 'warning',
      remedy: 'npm run assistant -- service install',
    });
    expect(rowOf(report, 'service.linger')).toMatchObject({
      state: 'warning',
      remedy: 'sudo loginctl enable-linger anna',
    });
    expect(await line.run('service', 'install')).toBe(0);
    expect(rowOf(await doctor(line), 'service.unit')).toMatchObject({ state: 'ok' });
  });

  test('and finds that it does not run, and lacks a key that this terminal has', async () => {
    const service = await installed();
    const { line, home } = service;
    await using model = await startStub({ '/models': { body: { data: [] } } });
    const settings = {
      gateway: { port: 0 },
      providers: { openai: { baseUrl: model.url, apiKey: '${OPENAI_API_KEY}' } },
    };
    writeFileSync(join(home, 'config.json'), JSON.stringify(settings));
    service.state('loaded', 'failed');
    line.env = { ...line.env, OPENAI_API_KEY: 'sk-of-this-terminal-alone' };
    const report = await doctor(line);
    expect(rowOf(report, 'service.running')).toMatchObject({
      state: 'failed',
      remedy: 'npm run assistant -- service start',
    });
    expect(rowOf(report, 'service.keys')).toMatchObject({
      state: 'warning',
      evidence: 'The service has no key or token for providers.openai, but this terminal has.',
      remedy: 'npm run assistant -- service install --copy-keys',
    });
    expect(JSON.stringify(report)).not.toContain('sk-of-this-terminal');
  });

  test('and leaves that of another home alone', async () => {
    const { line } = await installed();
    await furnishedHome({}, line);
    line.env = { ...line.env, ASSISTANT_HOME: line.home };
    expect((await doctor(line)).checks.filter(({ id }) => id.startsWith('service.'))).toEqual([]);
  });
});

describe('assistant doctor asks the gateway that runs', () => {
  test('and tells an old version, safe mode, a lost channel, a second reader and what else it warns of', async () => {
    const { line } = await furnishedHome({ channels: { telegram: { token: '1:x', allowFrom: ['1'] } } });
    line.running = true;
    line.assistant.facts = {
      ...INFO,
      channels: {
        telegram: {
          state: 'running',
          detail: "Another program fetches this bot's messages: stop it.",
          code: 'conflict',
        },
        discord: { state: 'failed', detail: 'Discord refused the bot token of channel "discord".' },
      },
      findings: [safeModeFinding({ recent: 6 }), { id: 'config.waiting', ...warning('Changed, and in force later.') }],
    };
    const report = await doctor(line, '--offline');
    expect(rowOf(report, 'gateway.version')).toMatchObject({
      state: 'warning',
      evidence: expect.stringMatching(/^Version 1\.2\.3 is running, but version /u),
    });
    expect(rowOf(report, 'channel.running')).toMatchObject({
      state: 'failed',
      evidence: 'discord is failed: Discord refused the bot token of channel "discord".',
    });
    expect(rowOf(report, 'gateway.warnings')).toMatchObject({
      state: 'warning',
      evidence: 'Changed, and in force later.',
    });
    const { line: other, paths } = await furnishedHome();
    await withJournal(paths);
    other.running = true;
    other.assistant.facts = { ...INFO, findings: [safeModeFinding({ recent: 6 })] };
    expect(rowOf(await doctor(other, '--offline'), 'gateway.starts')).toMatchObject({ state: 'failed' });
  });

  test('and tells that another program fetches the messages of its bot', async () => {
    await using telegram = await startStub({});
    const { line } = await furnishedHome({
      channels: { telegram: { token: '1:x', apiRoot: telegram.url, allowFrom: ['1'] } },
    });
    line.running = true;
    line.assistant.facts = {
      ...INFO,
      channels: {
        telegram: {
          state: 'running',
          detail: "Another program fetches this bot's messages: stop it.",
          code: 'conflict',
        },
      },
    };
    const report = await doctor(line);
    expect(rowOf(report, 'channel.poller')).toMatchObject({
      state: 'failed',
      remedy: expect.stringMatching(/^Stop that program/u),
    });
    expect(rowOf(report, 'channel.running')).toBeUndefined();
  });

  test('and names the process that has the home but does not answer', async () => {
    const { line, paths } = await furnishedHome();
    using _lock = acquireHomeLock(paths.lock, { pid: process.pid, startedAt: Date.now() });
    const report = await doctor(line, '--offline');
    expect(rowOf(report, 'home.lock')).toMatchObject({ state: 'warning', remedy: `kill ${process.pid}` });
  });

  test('also where the kernel has no list of locks', async () => {
    const { line, paths } = await machine();
    put(paths.lock, '');
    put(`${paths.lock}.holder`, JSON.stringify({ pid: process.pid, hostname: hostname(), since: 1 }));
    expect(rowOf(await doctor(line, '--offline'), 'home.lock')).toMatchObject({
      state: 'warning',
      remedy: `kill ${process.pid}`,
    });
  });
});

describe('assistant doctor looks at the machine', () => {
  test('and warns of root outside a container', async () => {
    const { line } = await machine();
    line.host = { ...line.host, uid: 0, user: 'root' };
    expect(rowOf(await doctor(line, '--offline'), 'program.root')).toMatchObject({
      state: 'warning',
      remedy: 'npm run assistant -- service install --system',
    });
  });

  test('and compares its clock with that of a server', async () => {
    const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toUTCString();
    await using ahead = await startStub({ '/models': { body: { data: [] } } }, { date: hours(2) });
    const { line } = await furnishedHome({ providers: { local: { baseUrl: ahead.url } } });
    expect(rowOf(await doctor(line), 'program.clock')).toMatchObject({
      state: 'warning',
      evidence: expect.stringMatching(/^The clock is 7[12]\d\d seconds behind that of 127\.0\.0\.1:/u),
      remedy: 'sudo timedatectl set-ntp true',
    });
  });

  test.skipIf(whyNoSmallDisks() !== null)('and tells that the disk of the home has no room', async () => {
    const { line, paths } = await furnishedHome();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,nr_inodes=100,mode=700', 'tmpfs', paths.home]);
    try {
      const found = faults(await doctor(line, '--offline')).filter(({ id }) => id === 'home.disk');
      expect(
        found.map(
          ({ state, evidence }) =>
            `${state} ${evidence.replace(paths.home, 'HOME').replaceAll(/\d+(?:\.\d+)?/gu, 'N')}`,
        ),
      ).toEqual(['failed The disk of HOME has N MB left.', 'failed The disk of HOME has room for N more files.']);
      expect(found.map(({ remedy }) => remedy)).toEqual([`df -h ${paths.home}`, `df -i ${paths.home}`]);
    } finally {
      execFileSync('umount', [paths.home]);
    }
  });
});

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openNotifier, type Notifier } from '../../src/service/notify.ts';
import { startWatchdog, type Watchdog } from '../../src/service/watchdog.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { findProgram, missing } from '../support/programs.ts';
import { testWith } from '../support/test-with.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const PROGRAMS = ['python3', 'systemd-notify'] as const;
const lacking = missing(...PROGRAMS);
const PATH = process.env['PATH'] ?? '/usr/bin:/bin';

/** A real datagram socket, as systemd's. */
async function receiver(name: string): Promise<readonly string[]> {
  const script = fileURLToPath(new URL('datagram-receiver.py', import.meta.url));
  const child = spawn(findProgram('python3') ?? '', [script, name], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const heard: string[] = [];
  child.stdout.on('data', (chunk) =>
    heard.push(
      ...String(chunk)
        .split('\n')
        .filter((text) => text !== ''),
    ),
  );
  await expect.poll(() => heard, { timeout: 10_000 }).toEqual(['listens']);
  heard.length = 0;
  return heard;
}

function notifierOf(env: Readonly<Record<string, string>>, failures: string[] = []): Notifier | undefined {
  return openNotifier({ env: { PATH, ...env }, pid: 42, onFailure: (sentence) => failures.push(sentence) });
}

describe('what systemd is told', () => {
  test.skipIf(lacking !== undefined).each([
    ['of a path', (): string => join(temporaryFolder(), 'notify')],
    ['that is abstract', (): string => `@assistant-test-${randomUUID()}`],
  ])(`arrives in order at a socket %s${lacking === undefined ? '' : ` (${lacking})`}`, async (_kind, name) => {
    const socket = name();
    const heard = await receiver(socket);
    const notifier = notifierOf({ NOTIFY_SOCKET: socket });
    void notifier?.send('READY=1', 'STATUS=demo, telegram');
    await notifier?.send('WATCHDOG=1');
    await expect.poll(() => heard).toEqual(['READY=1|STATUS=demo, telegram', 'WATCHDOG=1']);
  });

  testWith(...PROGRAMS)('by the gateway, from its start to its end', async () => {
    const socket = join(temporaryFolder(), 'notify');
    const heard = await receiver(socket);
    const line = new CommandLine();
    line.env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '900000', WATCHDOG_PID: String(process.pid), PATH };
    const ended = line.run('gateway');
    await expect
      .poll(() => heard.filter((text) => text === 'WATCHDOG=1').length, { timeout: 10_000 })
      .toBeGreaterThan(1);
    expect(heard[0]).toBe('READY=1|STATUS=demo/scripted, no chat platform|WATCHDOG=1');
    line.signal('SIGTERM');
    expect(await ended).toBe(0);
    await expect.poll(() => heard.at(-1)).toBe('STOPPING=1|STATUS=Stopping');
  });

  testWith(...PROGRAMS)('by a gateway that begins anew: it reloads, it does not stop', async () => {
    const socket = join(temporaryFolder(), 'notify');
    const heard = await receiver(socket);
    const line = new CommandLine();
    line.env = { NOTIFY_SOCKET: socket, PATH };
    const ended = line.run('gateway');
    await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(1);
    line.started[0]?.onRestart?.();
    expect(await ended).toBe(0);
    expect(heard.at(-1)).toBe('RELOADING=1|STATUS=Restarting|WATCHDOG=1');
    expect(line.restarts).toEqual([true]);
  });

  test('is nothing where systemd did not start it', () => {
    expect(notifierOf({})).toBeUndefined();
  });

  test.each([
    [{ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '42' }, 60_000],
    [{ WATCHDOG_USEC: '60000000' }, 60_000],
    [{ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '43' }, null],
    [{}, null],
  ])('%j is a watchdog of %s ms', (env, ms) => {
    expect(notifierOf({ NOTIFY_SOCKET: '/nowhere', ...env })?.watchdogMs).toBe(ms);
  });

  test('is missed in one sentence where there is no systemd-notify', async () => {
    const failures: string[] = [];
    const notifier = notifierOf({ NOTIFY_SOCKET: '/nowhere', PATH: temporaryFolder() }, failures);
    await notifier?.send('READY=1');
    await notifier?.send('WATCHDOG=1');
    expect(failures).toEqual([
      'The assistant cannot report its state to systemd, which may stop it for that: The program systemd-notify could not be started: it is not installed. Install the package systemd, which has systemd-notify.',
    ]);
  });
});

describe('signs of life', () => {
  function watched(): { clock: VirtualClock; sent: string[]; silences: string[]; watchdog: Watchdog } {
    const clock = new VirtualClock();
    const sent: string[] = [];
    const silences: string[] = [];
    const notifier: Notifier = { watchdogMs: 60_000, send: async (...notices) => void sent.push(notices.join('|')) };
    const watchdog = startWatchdog({ notifier, clock, onSilence: (sentence) => silences.push(sentence) });
    return { clock, sent, silences, watchdog };
  }

  test('give a start that waits for its disk more time', async () => {
    const { clock, sent, watchdog } = watched();
    await clock.advance(41_000);
    expect(sent).toEqual(Array(2).fill('WATCHDOG=1|EXTEND_TIMEOUT_USEC=90000000'));
    watchdog[Symbol.dispose]();
    await clock.advance(60_000);
    expect(sent).toHaveLength(2);
  });

  test('come three times in the time of the watchdog, also when the journal refuses', async () => {
    const { clock, sent, watchdog } = watched();
    await watchdog.ready('ready', () => Promise.reject(new Error('database or disk is full')));
    await clock.advance(61_000);
    expect(sent).toEqual(['READY=1|STATUS=ready|WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1']);
  });

  test('stop when the journal hangs, with a reason, and come again when it answers', async () => {
    const { clock, sent, silences, watchdog } = watched();
    let hangs = true;
    await watchdog.ready('ready', () => (hangs ? new Promise(() => {}) : Promise.resolve()));
    await clock.advance(41_000);
    expect(sent).toHaveLength(1);
    expect(silences).toEqual(['an answer of the journal took longer than 20000 ms']);
    hangs = false;
    await clock.advance(60_000);
    expect(sent.at(-1)).toBe('WATCHDOG=1');
  });

  test('end when the assistant stops', async () => {
    const { clock, sent, watchdog } = watched();
    await watchdog.ready('ready', async () => {});
    await watchdog.stopping();
    await clock.advance(120_000);
    expect(sent).toEqual(['READY=1|STATUS=ready|WATCHDOG=1', 'STOPPING=1|STATUS=Stopping']);
  });
});

test('the journal of a running assistant answers its watchdog', async () => {
  const { createAssistant } = await import('../../src/app.ts');
  const { silentLog } = await import('../../src/core/util/log.ts');
  await using assistant = await createAssistant({
    home: temporaryFolder(),
    environment: { PATH },
    log: silentLog,
    clock: systemClock,
  });
  await assistant.alive();
});

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordStates } from '../../src/core/assistant/channels.ts';
import type { App } from '../../src/core/app.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { appWith } from '../support/app-with.ts';
import { tempFolder } from '../support/temp.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

test('what a channel was is known of each time: while it was lost, stopped, and after a process that died', async () => {
  await using folder = await tempFolder();
  const clock = new VirtualClock(START);
  const open = (): Promise<Journal> =>
    openJournal({
      path: join(folder.path, 'state.db'),
      backupPath: null,
      clock,
      newId: createIds(clock, systemRandom),
    });
  let health: { state: string; detail?: string } = { state: 'running' };
  const manager = { health: () => ({ telegram: { kind: 'telegram', ...health }, terminal: { state: 'running' } }) };
  const record = (journal: Journal): Promise<AsyncDisposable> =>
    recordStates(
      appWith({
        clock,
        redact: (text) => text.replace('secret', '***'),
        channels: { manager } as unknown as App['channels'],
        journal,
      }),
    );
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    await settle();
  };

  const first = await open();
  const recording = await record(first);
  await pass(MINUTE);
  health = { state: 'reconnecting', detail: 'the secret server is down' };
  await pass(MINUTE);
  health = { state: 'running' };
  await pass(MINUTE);
  await recording[Symbol.asyncDispose]();
  first[Symbol.dispose]();
  await pass(MINUTE);
  const second = await open();
  await record(second);
  await pass(MINUTE);
  await waitFor(() => second.channelLog.at('telegram', clock.now())?.state === 'running');
  second[Symbol.dispose]();
  await pass(MINUTE);
  using third = await open();
  await third.channelLog.begin();

  const stateAt = (minutes: number): string | undefined =>
    third.channelLog.at('telegram', START + minutes * MINUTE)?.state;
  expect([-1, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5].map(stateAt)).toEqual([
    undefined,
    'running',
    'reconnecting',
    'running',
    'stopped',
    'lost',
    'lost',
  ]);
  expect(third.channelLog.at('telegram', START + 1.5 * MINUTE)?.detail).toBe('the *** server is down');
  expect(third.channelLog.at('terminal', clock.now())).toBeUndefined();
});

test('a channel that stays as it is costs no commit', async () => {
  await using folder = await tempFolder();
  const clock = new VirtualClock(START);
  let commits = 0;
  using journal = await openJournal({
    path: join(folder.path, 'state.db'),
    backupPath: null,
    clock,
    newId: createIds(clock, systemRandom),
    watermark: () => ({
      failure: undefined,
      committed: () => (commits += 1),
      durable: async () => {},
      settled: async () => {},
      close: () => {},
    }),
  });
  const manager = { health: () => ({ telegram: { kind: 'telegram', state: 'running' } }) };
  await using _recording = await recordStates(
    appWith({ clock, redact: (text) => text, channels: { manager } as unknown as App['channels'], journal }),
  );
  await waitFor(() => journal.channelLog.at('telegram', clock.now())?.state === 'running');
  const before = commits;
  await clock.advance(10 * MINUTE);
  await settle();
  expect(commits).toBe(before);
});

import { expect, onTestFinished, test } from 'vitest';
import { reportStorageTrouble } from '../../src/core/stores/storage-notices.ts';
import type { OutboundMessage } from '../../src/core/bus/messages.ts';
import type { App } from '../../src/core/app.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { appWith } from '../support/app-with.ts';
import { storageHealth } from '../support/healthy-storage.ts';
import { inboundMessage } from '../support/inbound.ts';
import { ScriptedChannel } from '../support/scripted-channel.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** A disk that a test spoils and mends, and what its owner was told at which second. */
function watchedDisk() {
  const clock = new VirtualClock();
  let isFull = false;
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  const storage = storageHealth(clock, async () => {
    if (isFull) throw full;
  });
  const channel = new ScriptedChannel();
  const told: { readonly second: number; readonly text: string }[] = [];
  const note = (text: string): void => void told.push({ second: clock.monotonic() / SECOND, text });
  channel.send = async ({ text }) => {
    note(text);
    return { platformId: '1' };
  };
  const manager = { outlet: () => channel, onReachable: () => ({ [Symbol.dispose]: () => {} }) };
  const app = appWith({
    storage,
    paths: { home: '/home/ann' } as App['paths'],
    bus: { publishOutbound: async ({ text }: OutboundMessage) => note(text) } as unknown as App['bus'],
    channels: { manager } as unknown as App['channels'],
    people: { ownersChat: () => inboundMessage() } as App['people'],
    clock,
    log: silentLog,
  });
  const notices = reportStorageTrouble(app, { others: null, waitedSince: null });
  onTestFinished(() => {
    notices[Symbol.dispose]();
    storage[Symbol.dispose]();
  });
  return {
    clock,
    told,
    spoil: async () => {
      isFull = true;
      storage.failed(full);
      await clock.advance(0);
    },
    mend: async () => {
      isFull = false;
      storage.recovers();
      await clock.advance(0);
    },
  };
}

test('a disk that is full now and then for hours is told of less and less often', async () => {
  const { clock, told, spoil, mend } = watchedDisk();
  for (let n = 0; n < 400; n += 1) {
    await spoil();
    await clock.advance(5 * SECOND);
    await mend();
    await clock.advance(25 * SECOND);
  }
  await clock.advance(HOUR);
  const begins = told.filter(({ text }) => text.startsWith('⚠ The disk of /home/ann is full'));
  const ends = told.filter(({ text }) => /can be written again, after/u.test(text));
  expect(begins.map(({ second }) => second)).toEqual([0, 30, 60, 90]);
  expect(ends).toHaveLength(4);
  expect(ends.at(-1)?.text).toMatch(/after 3h/u);
  expect(told).toHaveLength(8);
});

test('a trouble long after the one before is over for its owner as soon as the first was', async () => {
  const { clock, told, spoil, mend } = watchedDisk();
  for (let n = 0; n < 3; n += 1) {
    await spoil();
    await clock.advance(5 * SECOND);
    await mend();
    await clock.advance(2 * HOUR);
  }
  const seconds = told.map(({ second }) => second % (2 * 3_600));
  expect(seconds).toEqual([0, 10, 5, 15, 10, 20]);
});

test('how long it lasted is told by the monotonic clock, also when the machine gets its time meanwhile', async () => {
  const { clock, told, spoil, mend } = watchedDisk();
  await spoil();
  await clock.advance(5 * SECOND);
  clock.jump(30 * 24 * HOUR);
  await mend();
  await clock.advance(25 * SECOND);
  expect(told.at(-1)?.text).toContain('can be written again, after 5s.');
});

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { noteUnconfirmed } from '../../src/core/journal/power-loss.ts';
import { tempFolder } from '../support/temp.ts';

let ids = 0;
const open = (folder: string, boot: string): Promise<Journal> =>
  openJournal({
    path: join(folder, 'state.db'),
    backupPath: null,
    clock: systemClock,
    newId: () => `id-${(ids += 1)}`,
    boot,
  });

const answer = (id: string) =>
  ({ id, channel: 'telegram', chatId: '1', kind: 'answer', text: id, media: [], metadata: {} }) as const;

test('a process that dies before it has recovered from a power loss leaves the doubt to the next one', async () => {
  await using folder = await tempFolder();
  const before = await open(folder.path, 'first run');
  expect(before.mayHaveLost).toBe(false);
  await before.outbox.enqueue([answer('a'), answer('b')]);
  // None of these closes the journal: each is killed.
  const recovering = await open(folder.path, 'second run');
  expect(recovering.mayHaveLost).toBe(true);
  const again = await open(folder.path, 'second run');
  expect(again.mayHaveLost).toBe(true);
  await again.outbox.enqueue([answer('c')]);
  await again.lossRecovered();
  const recovered = await open(folder.path, 'second run');
  expect(recovered.mayHaveLost).toBe(false);
  // Until they are sent, what waited then may have been sent; what came later was not.
  expect(['a', 'b', 'c'].map((id) => recovered.outbox.open(id)?.doubt)).toEqual(['oldest', 'later', null]);
  await recovered.outbox.sending('a', 0, { resend: true });
  expect(recovered.outbox.open('a')?.doubt).toBeNull();
  for (const journal of [before, recovering, again, recovered]) journal[Symbol.dispose]();
});

test('a process that closes the journal before it has recovered leaves the doubt too', async () => {
  await using folder = await tempFolder();
  const before = await open(folder.path, 'first run');
  const recovering = await open(folder.path, 'second run');
  expect(recovering.mayHaveLost).toBe(true);
  recovering[Symbol.dispose]();
  const next = await open(folder.path, 'second run');
  expect(next.mayHaveLost).toBe(true);
  for (const journal of [before, next]) journal[Symbol.dispose]();
});

test('an orderly stop before the recovery puts nothing more in doubt after it', async () => {
  await using folder = await tempFolder();
  const before = await open(folder.path, 'first run');
  const recovering = await open(folder.path, 'second run');
  await recovering.outbox.enqueue([answer('a')]);
  recovering[Symbol.dispose]();
  for (let start = 0; start < 6; start += 1) {
    const next = await open(folder.path, `run ${start + 3}`);
    expect(next.mayHaveLost).toBe(true);
    expect(next.outbox.open('a')?.doubt).toBeNull();
    next[Symbol.dispose]();
  }
  before[Symbol.dispose]();
});

test('after a sync that failed the next process counts as one after a power loss', async () => {
  await using folder = await tempFolder();
  const before = await open(folder.path, 'the same run');
  noteUnconfirmed(join(folder.path, 'state.db'));
  const next = await open(folder.path, 'the same run');
  expect(next.mayHaveLost).toBe(true);
  await next.lossRecovered();
  const after = await open(folder.path, 'the same run');
  expect(after.mayHaveLost).toBe(false);
  for (const journal of [before, next, after]) journal[Symbol.dispose]();
});

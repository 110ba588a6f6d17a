import { expect, test } from 'vitest';
import { CronWorld } from './cron-world.ts';

const MONTHLY = { id: 'rent', cron: '0 9 1 * *', zone: 'UTC', text: 'Pay the rent', chat: 'telegram:42' };
/** A second before a month's time. */
const EDITED = Date.UTC(2026, 10, 1, 8, 59, 59);

async function edited(job: object): Promise<CronWorld> {
  const world = await CronWorld.open(EDITED);
  await world.start();
  await world.edit([job]);
  return world;
}

/** As the owner with `/cron enable`; what it answers. */
async function approve(world: CronWorld, id = MONTHLY.id): Promise<string> {
  const { jobStore, service } = world;
  const creator = { channel: 'telegram', id: '42', account: 'bot', chat: '42', chatType: 'direct' } as const;
  const { text } = await service.enable({ creator, role: 'owner', chat: 'telegram:42' }, id, jobStore.entry(id)?.hash);
  return text;
}

test('a monthly job edited a second before its time and approved an hour later runs that month, late', async () => {
  await using world = await edited(MONTHLY);
  await world.clock.advance(3_600_000);
  expect(world.sent()).toEqual([]);
  await approve(world);
  await world.clock.advance(1_000);
  expect(world.sent()).toEqual([expect.stringContaining('Pay the rent')]);
  expect(world.runs('rent')).toMatchObject([{ dueAt: EDITED + 1_000, lateMs: expect.any(Number) }]);
});

test('approved when it is too late to run, its missed time is told', async () => {
  await using world = await edited(MONTHLY);
  await world.clock.advance(24 * 3_600_000);
  expect(await approve(world)).toMatch(
    /too late to run now:\n- .*2026-11-01 09:00 \(UTC\): missed \(not approved at that time\)$/u,
  );
  expect(world.sent()).toEqual([]);
  expect(world.runs('rent')).toMatchObject([{ dueAt: EDITED + 1_000, execution: 'missed' }]);
});

test('a reminder whose only time came before it was approved is told all the same', async () => {
  const at = new Date(EDITED + 1_000).toISOString();
  await using world = await edited({ id: 'pills', at, text: 'Pills', chat: 'telegram:42' });
  await world.clock.advance(60_000);
  expect(await approve(world, 'pills')).toBe('`pills` runs now, late.');
  await world.clock.advance(1_000);
  expect(world.sent()).toEqual([expect.stringContaining('Pills')]);
});

test('a task whose only time passed long before it was approved is over, and that is said', async () => {
  const at = new Date(EDITED + 1_000).toISOString();
  await using world = await edited({ id: 'mails', at, kind: 'agent', text: 'Count the mails', chat: 'telegram:42' });
  await world.clock.advance(24 * 3_600_000);
  expect(await approve(world, 'mails')).toMatch(/^`mails` is over\.\n\nIt came due before you approved it/u);
  expect(world.sent()).toEqual([expect.stringMatching(/it was not approved in time\. It was not done\.$/u)]);
});

test('a job that was switched off until its only time had passed is not switched on again', async () => {
  await using world = await CronWorld.open(EDITED);
  await world.start();
  await world.add({ id: 'pills', at: new Date(EDITED + 60_000).toISOString(), text: 'Pills' });
  await world.jobStore.setEnabled('pills', false);
  await world.clock.advance(120_000);
  await expect(approve(world, 'pills')).rejects.toThrow('The time of `pills` has passed.');
});

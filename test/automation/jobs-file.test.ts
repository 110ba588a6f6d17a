import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JobsFile, parseJobs } from '../../src/extensions/cron/jobs-file.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { tempFolder } from '../support/temp.ts';

const TEA = { id: 'a1', name: 'Tea', enabled: true, schedule: { kind: 'every', everyMs: 3_600_000 } };
const FOREIGN = {
  version: 1,
  jobs: [
    { ...TEA, payload: { kind: 'agent_turn', message: 'Brew tea.', deliver: true, channel: 'telegram', to: '42' } },
  ],
};

test('jobs of another program that can’t be copied first, as on a full disk, are imported at the next look', async () => {
  await using home = await tempFolder();
  const path = join(home.path, 'cron', 'jobs.json');
  await mkdir(join(home.path, 'cron'));
  await writeFile(path, JSON.stringify(FOREIGN));
  const quarantine = join(home.path, 'quarantine');
  await writeFile(quarantine, '');
  const file = new JobsFile({ path, quarantine, clock: systemClock, zone: 'UTC' });
  await expect(file.look()).rejects.toThrow();
  await rm(quarantine);
  expect(await file.look()).toBe(true);
  expect(file.list.jobs).toHaveLength(1);
  expect(await readFile(path, 'utf8')).toContain('Brew tea.');
});

test('a bare list without jobs of another program is refused with the form that the file needs', () => {
  const list = JSON.stringify([{ id: 'tea', kind: 'message', text: 'Tea', every: '1h', chat: 'telegram:42' }]);
  expect(parseJobs(list, { zone: 'UTC', now: 0 })).toEqual({
    problem: 'it is a bare list. Put the list into {"version": 1, "jobs": […]}, and save the file',
  });
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { failureOf } from '../config/temporary-home.ts';
import { startWorld } from '../support/world.ts';

test('a job is replaced under its id in one step; what is not said stays, also that it is off', async () => {
  await using world = await startWorld();
  const job = { when: 'every 2h', text: 'Drink tea.', kind: 'message', id: 'tea', chat: 'telegram:42' } as const;
  await world.assistant.call('cron', { action: 'add', job });
  await world.assistant.call('cron', { action: 'disable', id: 'tea' });
  const changed = await world.assistant.call('cron', {
    action: 'replace',
    id: 'tea',
    job: { when: 'every 3h', text: 'Drink water.', kind: 'message' },
  });
  expect(changed.jobs).toMatchObject([{ id: 'tea', text: 'Drink water.', chat: 'telegram:42', state: 'off' }]);
  const meeting = { when: '0 10 * * 1-5', text: 'Stand up.', kind: 'message' } as const;
  for (const given of [{ ...meeting, when: '0 9 * * 1-5', zone: 'Asia/Tokyo' }, meeting])
    await world.assistant.call('cron', { action: 'replace', id: 'tea', job: given });
  const written = await readFile(join(world.workspace, 'cron', 'jobs.json'), 'utf8');
  expect(JSON.parse(written)).toMatchObject({ jobs: [{ cron: '0 10 * * 1-5', zone: 'Asia/Tokyo', enabled: false }] });
  const { jobs } = await world.assistant.call('cron', { action: 'list' });
  expect(jobs).toMatchObject([{ id: 'tea', text: 'Stand up.', state: 'off' }]);
  const wrong = { when: 'never ever', text: 'x', kind: 'message' } as const;
  await failureOf(world.assistant.call('cron', { action: 'replace', id: 'tea', job: wrong }));
  expect((await world.assistant.call('cron', { action: 'list' })).jobs).toMatchObject([{ text: 'Stand up.' }]);
  const unknown = world.assistant.call('cron', { action: 'replace', id: 'beer', job: wrong });
  expect((await failureOf(unknown)).code).toBe('cron-unknown');
});

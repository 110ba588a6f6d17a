import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({
    config: {
      agent: {
        fallbacks: ['openai/spare-model'],
        budget: { dayUsd: 10, dayTokens: 1_000_000 },
        timezone: 'Europe/Vienna',
      },
      models: { 'openai/scripted-model': { price: { input: 1_000, output: 2_000 } } },
    },
  });
});
afterAll(() => world[Symbol.asyncDispose]());

async function answered(text: string): Promise<void> {
  world.model.reply(text);
  world.telegram.userSays(OWNER, 'hi');
  await waitFor(() => chatOf(world).includes(text), { what: text });
}

describe('health', () => {
  test('says how channels, disk, sandbox and providers are, and what waits', async () => {
    const before = await world.assistant.call('health', {});
    expect(before.providers).toEqual([{ name: 'openai', state: 'unknown', detail: null, at: null }]);
    await answered('One.');
    await waitFor(async () => (await world.assistant.call('health', {})).queues.outbound === 0);
    const health = await world.assistant.call('health', {});
    expect(health).toMatchObject({
      queues: { runningTurns: 0, inbound: 0, deadLetters: 0 },
      disk: { state: 'ok', reason: null, freeBytes: expect.any(Number) },
      sandbox: { state: expect.stringMatching(/^(?:available|missing|off)$/u), detail: expect.stringMatching(/./u) },
      versions: { assistant: expect.stringMatching(/^\d/u), node: process.versions.node },
      providers: [{ name: 'openai', state: 'ok', at: expect.any(Number) }],
    });
    expect(health.channels).toContainEqual({ name: 'telegram', state: 'running', detail: null, queued: 0 });
    expect(health.disk.totalBytes).toBeGreaterThan(health.disk.freeBytes ?? Infinity);
  });

  test('counts a message that could not be delivered', async () => {
    world.telegram.faultNext('sendMessage', { status: 403, description: 'Forbidden: bot was blocked by the user' });
    world.model.reply('Lost.');
    world.telegram.userSays(OWNER, 'hi');
    const dead = async () => (await world.assistant.call('health', {})).queues.deadLetters;
    await waitFor(async () => (await dead()) === 1, { what: 'a dead letter' });
    const [letter] = await world.assistant.call('outboxList', {});
    await world.assistant.call('outboxRetry', { id: letter?.id ?? '' });
    await waitFor(async () => (await dead()) === 0, { what: 'no dead letter' });
  });
});

test('usage comes as a series of days with the share of cached input and what is left of the budgets', async () => {
  await answered('Two.');
  const { rows, days, cacheHitRate, budgets } = await world.assistant.call('usageSeries', { by: 'model', days: 7 });
  const [row] = rows;
  expect(row).toMatchObject({ name: 'openai/scripted-model', calls: expect.any(Number) });
  expect(days).toEqual([{ ...row, day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/u) }]);
  expect(cacheHitRate).toBe((row?.cached ?? 0) / (row?.input ?? 1));
  const used = (row?.input ?? 0) + (row?.output ?? 0);
  expect(budgets).toContainEqual({
    name: 'agent.budget.dayTokens',
    unit: 'tokens',
    limit: 1_000_000,
    used,
    left: 1_000_000 - used,
  });
  expect(budgets.find(({ name }) => name === 'agent.budget.dayUsd')?.used).toBeCloseTo(row?.costUsd ?? -1);
  expect(row?.costUsd).toBeGreaterThan(0);
  const bySource = await world.assistant.call('usageSeries', { by: 'source', days: 1 });
  expect(bySource.rows.map(({ name }) => name)).toEqual(['user']);
});

test('the models that may be chosen are listed, and which one answers in a session', async () => {
  expect(await world.assistant.call('modelsList', {})).toEqual({
    models: ['openai/scripted-model', 'openai/spare-model'],
    current: 'openai/scripted-model',
    chosen: null,
  });
  world.telegram.userSays(OWNER, '/model openai/spare-model');
  await waitFor(() => chatOf(world).some((text) => text.includes('spare-model')));
  expect(await world.assistant.call('modelsList', { session: 'telegram:42' })).toMatchObject({
    current: 'openai/spare-model',
    chosen: 'openai/spare-model',
  });
});

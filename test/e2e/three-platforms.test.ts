import { describe, expect, test } from 'vitest';
import { PLATFORMS, startEverywhere, type Everywhere, type Platform } from '../support/three-platforms.ts';
import { expectWithin, waitFor } from '../support/wait.ts';

const TURNS = 9;

/** Median ms of a turn on each of these. */
async function latencies(
  everywhere: Everywhere,
  platforms: readonly Platform[],
): Promise<ReadonlyMap<Platform, number>> {
  const times = new Map<Platform, number>();
  for (const platform of platforms) {
    const each: number[] = [];
    for (let n = 0; n < TURNS; n += 1) each.push(await everywhere.turn(platform, `turn ${n} on ${platform}`));
    times.set(platform, each.toSorted((a, b) => a - b)[Math.floor(TURNS / 2)] ?? NaN);
  }
  return times;
}

const others = (broken: Platform): readonly Platform[] => PLATFORMS.filter((platform) => platform !== broken);

/** Beside other tests a turn may take a little longer; one that waits for a platform takes seconds. */
function expectAsBefore(before: ReadonlyMap<Platform, number>, after: ReadonlyMap<Platform, number>): void {
  for (const [platform, ms] of after) expectWithin(ms, 2 * (before.get(platform) ?? 0) + 60, `a turn on ${platform}`);
  const shown = [...after].map(([name, ms]) => `${name} ${before.get(name)?.toFixed(1)} → ${ms.toFixed(1)} ms`);
  process.stdout.write(`${shown.join(', ')}\n`);
}

describe('one assistant on three platforms', () => {
  test.each(PLATFORMS.flatMap((platform) => (['refused', 'hung'] as const).map((how) => [platform, how] as const)))(
    'answers as fast as before on the others when %s is %s',
    async (broken, how) => {
      await using everywhere = await startEverywhere();
      everywhere.world.model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
      const before = await latencies(everywhere, PLATFORMS);
      await everywhere.breakOff(broken, how);
      // Something to be said there, too, waits.
      if (how === 'hung') everywhere.sends(broken, 'and here?');
      expectAsBefore(before, await latencies(everywhere, others(broken)));
    },
  );

  test.each(PLATFORMS)('answers on the others when the token of %s is wrong, and says so', async (broken) => {
    await using everywhere = await startEverywhere({ wrongToken: broken });
    everywhere.world.model.setHandler(() => 'Hello.');
    for (const platform of others(broken)) await everywhere.turn(platform, 'hi');
    await waitFor(async () => (await everywhere.health(broken)) === 'failed', { what: `${broken} to fail` });
    for (const platform of others(broken)) expect(await everywhere.health(platform)).toBe('running');
  });

  test('goes on in Slack with what was said on Telegram, and answers there', async () => {
    await using everywhere = await startEverywhere({ config: { session: { unified: true } } });
    const { world } = everywhere;
    world.model.reply('Noted.', 'Xylophone.', 'Still xylophone.');
    await everywhere.turn('telegram', 'the word is xylophone');
    await everywhere.turn('slack', 'which word was it?');
    expect(JSON.stringify(world.model.requests[1]?.body)).toContain('the word is xylophone');
    await everywhere.turn('discord', 'and now?');
    expect(PLATFORMS.map((platform) => everywhere.texts(platform))).toEqual([
      ['Noted.'],
      ['Still xylophone.'],
      ['Xylophone.'],
    ]);
  });

  test('answers in the chat that asked last when a turn has two of them', async () => {
    await using everywhere = await startEverywhere({ config: { session: { unified: true } } });
    const { world } = everywhere;
    world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }], delayMs: 300 }, 'Both.');
    everywhere.sends('telegram', 'list the files');
    await waitFor(() => world.model.inFlight === 1);
    await everywhere.turn('slack', 'and be brief');
    expect(PLATFORMS.map((platform) => everywhere.texts(platform))).toEqual([[], [], ['Both.']]);
  });
});

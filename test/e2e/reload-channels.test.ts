import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connections, PLATFORMS, startEverywhere, type Everywhere, type Platform } from '../support/three-platforms.ts';
import { waitFor } from '../support/wait.ts';

/** Messages on each platform. */
const MESSAGES = 12;

/** Changes a setting of one channel in the file. */
async function change(everywhere: Everywhere, platform: Platform, contextMinutes: number): Promise<void> {
  const path = join(everywhere.world.home, 'config.json');
  const settings = JSON.parse(await readFile(path, 'utf8')) as { channels: Record<Platform, object> };
  const channels = { ...settings.channels, [platform]: { ...settings.channels[platform], groups: { contextMinutes } } };
  await writeFile(path, JSON.stringify({ ...settings, channels }));
}

test.each(PLATFORMS)('%s starts anew alone while all are talked to: no message is lost or doubled', async (changed) => {
  await using everywhere = await startEverywhere();
  const { world } = everywhere;
  world.model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
  for (const platform of PLATFORMS) await everywhere.turn(platform, 'hello');
  const before = connections(everywhere);
  const talk = PLATFORMS.map(async (platform) => {
    for (let n = 0; n < MESSAGES; n += 1) {
      const answers = everywhere.texts(platform).length;
      everywhere.sends(platform, `${platform} ${n}`);
      // Two on their way at once.
      if (n % 2 === 1)
        await waitFor(() => everywhere.texts(platform).length > answers, { what: `${n} on ${platform}` });
    }
  });
  for (const minutes of [5, 6]) {
    await change(everywhere, changed, minutes);
    expect(await world.assistant.reload()).toEqual({
      changes: [{ path: `channels.${changed}`, effect: 'rebuild' }],
      refused: null,
    });
  }
  await Promise.all(talk);
  const said = (platform: Platform): string => everywhere.texts(platform).join('\n');
  await waitFor(() => PLATFORMS.every((platform) => said(platform).includes(`${platform} ${MESSAGES - 1}`)), {
    what: 'the last answers',
  });
  for (const platform of PLATFORMS) {
    const asked = world.model.requests.flatMap(
      ({ view }) => view.lastUserText.match(new RegExp(`${platform} \\d+`, 'gu')) ?? [],
    );
    const expected = Array.from({ length: MESSAGES }, (_, n) => `${platform} ${n}`);
    expect([...new Set(asked)].toSorted(), `heard on ${platform}`).toEqual(expected.toSorted());
    const texts = everywhere.texts(platform);
    expect(
      texts.filter((text) => text.includes('↻')),
      `sent again on ${platform}`,
    ).toEqual([]);
    expect(new Set(texts).size, `told twice on ${platform}`).toBe(texts.length);
  }
  const after = connections(everywhere);
  for (const platform of PLATFORMS) {
    expect(after[platform] - before[platform], `connections to ${platform}`).toBe(platform === changed ? 2 : 0);
  }
});

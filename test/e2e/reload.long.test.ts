import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { edit, wrongly, type Settings } from '../support/reload-world.ts';
import { connections, PLATFORMS, startEverywhere, type Everywhere, type Platform } from '../support/three-platforms.ts';
import { waitFor } from '../support/wait.ts';

// Every live and rebuilt key is changed while all platforms are talked to.

/** A change of the file, and which channels it starts anew. */
interface Change {
  readonly what: string;
  readonly rebuilds: readonly Platform[];
  readonly make: (settings: Settings) => void;
}

/** Two values for each live key: the second change must be taken up too. */
const LIVE: Readonly<Record<string, readonly [unknown, unknown]>> = {
  'agent.fallbacks': [['openai/other'], []],
  'agent.maxIterations': [9, 11],
  'agent.maxOutputTokens': [900, 1_000],
  'agent.contextWindow': [90_000, 80_000],
  'agent.temperature': [0.1, 0.2],
  'agent.reasoning': ['low', 'off'],
  'agent.whenBusy': ['queue', 'steer'],
  'agent.debounceMs': [1, 2],
  'agent.turnTimeoutMinutes': [3, 4],
  'agent.budget': [{ dayTokens: 90_000_000 }, { dayTokens: 80_000_000 }],
  models: [{ 'openai/scripted-model': { contextWindow: 70_000 } }, {}],
  'tools.deny': [['web_*'], []],
  'tools.allow': [['*_file'], ['*']],
  'tools.guest': [[], ['web_search']],
  'heartbeat.everyMinutes': [11, 12],
  'cron.graceMinutes': [13, 14],
  voice: [{ provider: 'openai', apiKey: 'sk-for-the-voice-00001' }, {}],
};
const OF_A_CHANNEL: Readonly<Record<string, readonly [unknown, unknown]>> = {
  stream: [false, true],
  groups: [{ contextMinutes: 5 }, { followUpSeconds: 6 }],
};

function setAt(settings: Settings, path: string, value: unknown): void {
  const [section = '', key] = path.split('.');
  settings[section] = (key === undefined ? value : { ...settings[section], [key]: value }) as Settings[string];
}

const changes: readonly Change[] = [
  ...Object.entries(LIVE).flatMap(([path, values]) =>
    values.map((value, n) => ({
      what: `${path} (${n + 1})`,
      rebuilds: [],
      make: (settings: Settings) => setAt(settings, path, value),
    })),
  ),
  ...PLATFORMS.flatMap((platform) =>
    Object.entries(OF_A_CHANNEL).flatMap(([key, values]) =>
      values.map((value, n) => ({
        what: `channels.${platform}.${key} (${n + 1})`,
        rebuilds: [platform],
        make: (settings: Settings) =>
          setAt(settings, `channels.${platform}`, { ...(settings['channels']?.[platform] as object), [key]: value }),
      })),
    ),
  ),
  ...['11', '22'].map((token) => ({
    what: `providers.groq (${token})`,
    rebuilds: [],
    make: (settings: Settings) => setAt(settings, 'providers.groq', { apiKey: `gsk-another-provider-${token}` }),
  })),
];

/** Talks on a platform until `isOver`, and says how many messages that were. */
async function talk(everywhere: Everywhere, platform: Platform, isOver: () => boolean): Promise<number> {
  let n = 0;
  for (; !isOver(); n += 1) {
    const before = everywhere.texts(platform).length;
    everywhere.sends(platform, `${platform} message ${n}.`);
    await waitFor(() => everywhere.texts(platform).length > before, {
      what: `the answer to ${n} on ${platform}`,
      timeoutMs: 60_000,
    });
  }
  return n;
}

test('each change is taken up under load: nothing is lost or doubled, and other channels stay connected', async () => {
  await using everywhere = await startEverywhere();
  const { world } = everywhere;
  world.model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
  for (const platform of PLATFORMS) await everywhere.turn(platform, 'hello');
  let isOver = false;
  const talking = Promise.all(PLATFORMS.map((platform) => talk(everywhere, platform, () => isOver)));
  for (const { what, rebuilds, make } of changes) {
    const before = connections(everywhere);
    await edit(world.home, make);
    const { changes: taken, refused } = await world.assistant.reload();
    expect([what, refused]).toEqual([what, null]);
    // The watcher may have been first.
    expect(
      taken.every(({ path }) => what.startsWith(path.split('.')[0] ?? '')),
      what,
    ).toBe(true);
    const after = connections(everywhere);
    for (const platform of PLATFORMS) {
      const expected = before[platform] + (rebuilds.includes(platform) ? 1 : 0);
      expect(after[platform], `${what}: connections to ${platform}`).toBe(expected);
    }
  }
  isOver = true;
  const counts = await talking;
  for (const [at, platform] of PLATFORMS.entries()) {
    const texts = everywhere.texts(platform).slice(1);
    const expected = Array.from({ length: counts[at] ?? 0 }, (_, n) => `Answer to ${platform} message ${n}.`);
    expect(texts, platform).toEqual(expected);
  }
  process.stdout.write(`${changes.length} changes, ${counts.join(' + ')} messages\n`);
});

test('twenty edits that are wrong, seen by the watcher: the running configuration stays, the owner is told once of each', async () => {
  await using everywhere = await startEverywhere();
  const { world } = everywhere;
  world.model.setHandler(() => 'Hello.');
  await everywhere.turn('telegram', 'hi');
  const before = connections(everywhere);
  const path = join(world.home, 'config.json');
  const good = await readFile(path, 'utf8');
  const told = (): number =>
    PLATFORMS.flatMap((platform) => everywhere.texts(platform)).filter((text) => text.includes('I did not apply'))
      .length;
  for (let n = 0; n < 20; n += 1) {
    await writeFile(path, wrongly(good, n));
    await waitFor(() => told() === n + 1, { what: `the notice of edit ${n}` });
  }
  await writeFile(path, good);
  expect(await world.assistant.reload()).toEqual({ changes: [], refused: null });
  expect(connections(everywhere)).toEqual(before);
  await everywhere.turn('telegram', 'still there?');
  expect(told()).toBe(20);
});

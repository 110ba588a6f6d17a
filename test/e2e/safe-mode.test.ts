import { writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { bootId } from '../../src/core/util/boot-id.ts';
import { FIXTURE_SERVER } from '../mcp/built-fixture.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const MINUTE = 60_000;
const PLUGIN = `export default { name: 'louder', hooks: { render: (_facts, text) => ({ type: 'replace', value: text.toUpperCase() }) } };`;
const CONFIG = {
  agent: { timezone: 'Europe/Vienna' },
  plugins: ['louder'],
  mcpServers: {
    fix: { command: process.execPath, args: [FIXTURE_SERVER] },
  },
};

interface Looping extends AsyncDisposable {
  readonly world: World;
  readonly clock: SkippingClock;
  /** How often it asked to be started anew. */
  readonly restarts: () => number;
}

/** Someone's home with a plugin, an MCP server, an open task and a job that is due each minute; so often it broke down. */
async function brokenDown(times: number, overMs = MINUTE): Promise<Looping> {
  const clock = new SkippingClock();
  let restarts = 0;
  const world = await startWorld({
    clock,
    config: CONFIG,
    onRestart: () => (restarts += 1),
    furnish: async (home) => {
      const folder = join(home, 'plugins', 'louder');
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'package.json'), '{"name":"louder","assistant":{"plugin":"./index.mjs"}}');
      await writeFile(join(folder, 'index.mjs'), PLUGIN);
      await writeFile(join(home, 'workspace', 'HEARTBEAT.md'), '- [ ] check the backup\n');
    },
  });
  world.model.reply(
    { calls: [{ name: 'cron', arguments: { action: 'add', when: 'every 1 minute', text: 'Drink water' } }] },
    'I remind you.',
  );
  await say(world, 'remind me every minute to drink');
  await world.assistant[Symbol.asyncDispose]();
  died(world.home, { times, overMs, now: clock.now() });
  await world.restart();
  return { world, clock, restarts: () => restarts, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** Leaves the home as processes do that were killed at their start: none of them closed it. */
function died(home: string, { times, overMs, now }: { times: number; overMs: number; now: number }): void {
  const starts = Array.from({ length: times }, (_, n) => now - Math.round((overMs * (times - n)) / times));
  writeFileSync(homePaths(home).starts, starts.join(' '));
  using db = new DatabaseSync(join(home, 'state.db'));
  db.prepare('INSERT OR REPLACE INTO opened (id, boot, lost) VALUES (1, ?, 0)').run(bootId());
}

/** Returns the reply; what else is said in the chat does not count. */
async function say(world: World, text: string): Promise<string> {
  const known = replies(world).length;
  world.telegram.userSays(OWNER, text);
  return await waitFor(() => replies(world)[known], { what: `a reply to ${text}` });
}

const replies = (world: World): readonly string[] =>
  chatOf(world).filter((text) => !isReminder(text) && !isNotice(text));
const isReminder = (text: string): boolean => /^drink water/iu.test(text);
const isNotice = (text: string): boolean => text.startsWith('I am in safe mode');
const reminders = (world: World): number => chatOf(world).filter(isReminder).length;
const notices = (world: World): number => chatOf(world).filter(isNotice).length;
const hasServer = async (world: World): Promise<boolean> =>
  (await world.assistant.call('toolsList', {})).some(({ name }) => name.startsWith('mcp_fix'));

describe('safe mode', () => {
  test('begins with the sixth start within five minutes: it answers, says so, and sends only the reminder with a fixed text', async () => {
    await using loop = await brokenDown(5);
    const { world, clock } = loop;
    await waitFor(() => notices(world) === 1, { what: 'the notice' });
    expect(chatOf(world).find(isNotice)).toMatch(
      /^I am in safe mode, because I was started 6 times within five minutes/u,
    );
    expect((await world.assistant.call('info', {})).warnings).toContainEqual(
      expect.stringMatching(/^I am in safe mode/u),
    );
    expect(await world.assistant.call('pluginsList', {})).toMatchObject([{ name: 'louder', state: 'safe mode' }]);
    expect(await world.assistant.call('mcpList', {})).toMatchObject([{ name: 'fix', state: 'off' }]);
    expect(await hasServer(world)).toBe(false);
    const asked = world.model.requests.length;
    for (let minutes = 0; minutes < 20; minutes += 1) {
      clock.skip(MINUTE);
      expect(await world.assistant.call('info', {})).toBeDefined();
    }
    world.model.reply('Still here.');
    expect(await say(world, 'are you there?')).toBe('Still here.');
    expect(world.model.requests).toHaveLength(asked + 1);
    await waitFor(() => reminders(world) === 1, { what: 'the reminder' });
    expect(await say(world, '/status')).toMatch(/⚠ I am in safe mode/u);
    expect(loop.restarts()).toBe(0);
  });

  test('says what of the schedule rests when it is looked at or something is added, and sends fixed reminders once', async () => {
    await using loop = await brokenDown(5);
    const { world, clock } = loop;
    expect(await say(world, '/cron')).toMatch(/drink-water/u);
    world.model.reply(
      { calls: [{ name: 'cron', arguments: { action: 'add', when: 'in 1 minute', text: 'Drink water, now' } }] },
      'I remind you.',
    );
    expect(await say(world, 'and in a minute')).toBe('I remind you.');
    expect(world.model.requests.at(-1)?.view.toolResults.at(-1)?.text).toMatch(/Set `drink-water-now` .*safe mode/su);
    clock.skip(5 * MINUTE);
    expect(await say(world, '/cron')).toMatch(/safe mode/u);
    await waitFor(() => reminders(world) === 2, { what: 'what was added and what was due, once each' });
    await world.restart();
    world.model.reply('Here.');
    expect(await say(world, 'are you there?')).toBe('HERE.');
    expect(reminders(world)).toBe(2);
  });

  test('is left by /restart: plugins, servers and the schedule run again, and what was due is made up for', async () => {
    await using loop = await brokenDown(5);
    const { world, clock } = loop;
    expect(await say(world, '/restart')).toBe('Restarting. Unfinished work continues in a moment.');
    await waitFor(() => loop.restarts() === 1, { what: 'it starts anew' });
    clock.skip(2 * MINUTE);
    await world.restart();
    world.model.reply('hello');
    expect(await say(world, 'hi')).toBe('HELLO');
    await waitFor(() => hasServer(world), { what: 'the tools of the MCP server' });
    await waitFor(() => reminders(world) > 0, { what: 'the reminder' });
    expect(await say(world, '/status')).not.toMatch(/safe mode/iu);
    expect(notices(world)).toBe(1);
  });

  test('ends by itself after 30 calm minutes, as soon as no turn is running', async () => {
    await using loop = await brokenDown(5);
    const { world, clock } = loop;
    // Otherwise the clock skips over the time that a send may take, and the notice is sent again.
    await waitFor(async () => notices(world) === 1 && (await world.assistant.call('outboxList', {})).length === 0, {
      what: 'the notice has arrived',
    });
    clock.skip(29 * MINUTE);
    const gate = Promise.withResolvers<void>();
    world.model.setHandler(async () => {
      await gate.promise;
      return 'Done.';
    });
    const reply = say(world, 'a long job');
    await waitFor(() => world.model.inFlight === 1, { what: 'the turn runs' });
    clock.skip(5 * MINUTE);
    await waitFor(() => world.telegram.polling);
    expect(loop.restarts()).toBe(0);
    gate.resolve();
    expect(await reply).toBe('Done.');
    const over = (): boolean => {
      clock.skip(MINUTE);
      return loop.restarts() > 0;
    };
    await waitFor(over, { what: 'it starts anew' });
    world.model.setHandler(() => 'hello');
    await world.restart();
    expect(await say(world, 'hi')).toBe('HELLO');
  });

  test.each([
    { times: 4, overMs: MINUTE, why: 'five starts' },
    { times: 12, overMs: 48 * MINUTE, why: 'starts four minutes apart' },
  ])('is not begun by $why', async ({ times, overMs }) => {
    await using loop = await brokenDown(times, overMs);
    const { world } = loop;
    world.model.reply('hello');
    expect(await say(world, 'hi')).toBe('HELLO');
    expect(notices(world)).toBe(0);
  });

  test('does not go on over a start after an orderly stop', async () => {
    await using loop = await brokenDown(5);
    await loop.world.restart();
    loop.world.model.reply('hello');
    expect(await say(loop.world, 'hi')).toBe('HELLO');
  });
});

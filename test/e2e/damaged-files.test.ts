import { mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { runCommand } from '../support/command-run.ts';
import { reads, startDiscordWorld, textsIn } from '../support/discord-world.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { settle } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

/** Longer than the time between two looks. */
const LATER_MS = 6_000;
const FACTS = Array.from({ length: 20 }, (_, n) => `- Fact number ${n} about the person\n`).join('');

async function memoryWorld(): Promise<{
  readonly world: World;
  readonly clock: SkippingClock;
  readonly memory: string;
}> {
  const clock = new SkippingClock();
  const world = await startWorld({ clock });
  world.model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
  const memory = join(world.workspace, 'memory', 'MEMORY.md');
  mkdirSync(dirname(memory), { recursive: true });
  writeFileSync(memory, FACTS);
  await talk(world, 'hello');
  await look(world, clock);
  return { world, clock, memory };
}

async function talk(world: World, text: string): Promise<void> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `a reply to ${text}` });
}

/** Lets the home be looked at until its record of a file of the workspace is as the file is. */
async function look(world: World, clock: SkippingClock, file = 'memory/MEMORY.md'): Promise<void> {
  const { size } = statSync(join(world.workspace, file));
  await waitFor(() => {
    clock.skip(LATER_MS);
    using db = new DatabaseSync(join(world.home, 'state.db'), { readOnly: true });
    return db.prepare('SELECT bytes FROM home_files WHERE path = ?').get(`workspace/${file}`)?.['bytes'] === size;
  });
}

const told = (world: World, words: RegExp): Promise<unknown> =>
  waitFor(() => chatOf(world).some((text) => words.test(text)), { what: String(words) });

const warnings = (world: World): readonly string[] => chatOf(world).filter((text) => text.startsWith('⚠'));

test('a memory that lost most of its text while the assistant runs is told within 5 s, once, with the way back', async () => {
  const { world, clock, memory } = await memoryWorld();
  await using _ = world;
  truncateSync(memory, 40);
  clock.skip(LATER_MS);
  await told(
    world,
    /^⚠ workspace\/memory\/MEMORY\.md has only 40 bytes left; on .* it had \d+ bytes\. If you did not do that, take it from a backup \(docs\/backup\.md\)\. Earlier versions of MEMORY\.md: \/memory log, \/memory restore ID\.$/u,
  );
  const { warnings: shown } = await world.assistant.call('health', {});
  expect(shown).toContainEqual(expect.stringContaining('MEMORY.md has only 40 bytes left'));
  clock.skip(LATER_MS);
  await world.restart();
  await talk(world, 'again');
  expect(warnings(world)).toHaveLength(1);
});

test('agreements to plugins that shrink to none are no damage', async () => {
  const { world, clock } = await memoryWorld();
  await using _ = world;
  const pins = join(world.home, 'plugin-pins.json');
  const seen = async (text: string): Promise<void> => {
    writeFileSync(pins, text);
    await waitFor(() => {
      clock.skip(LATER_MS);
      using db = new DatabaseSync(join(world.home, 'state.db'), { readOnly: true });
      const row = db.prepare('SELECT bytes FROM home_files WHERE path = ?').get('plugin-pins.json');
      return row?.['bytes'] === text.length;
    });
  };
  await seen(JSON.stringify({ tides: 'a'.repeat(64) }));
  await seen('{}\n');
  await talk(world, 'again');
  expect(warnings(world)).toEqual([]);
});

test('what a person writes, and what the assistant itself makes shorter, is no damage', async () => {
  const { world, clock, memory } = await memoryWorld();
  await using _ = world;
  writeFileSync(memory, `${FACTS}- One more\n`);
  await look(world, clock);
  writeFileSync(memory, FACTS.slice(0, Math.floor(FACTS.length * 0.7)));
  await look(world, clock);
  const soul = 'SOUL.md';
  writeFileSync(join(world.workspace, soul), 'Be brief and kind. '.repeat(40));
  await look(world, clock, soul);
  const { hash } = await world.assistant.call('filesRead', { name: soul });
  await world.assistant.call('filesWrite', { name: soul, text: 'Be brief.\n', hash });
  await look(world, clock, soul);
  await talk(world, 'hello again');
  expect(warnings(world)).toEqual([]);
});

test('the tape of a conversation that went while it was open is told within 5 s; the conversation goes on', async () => {
  const { world, clock } = await memoryWorld();
  await using _ = world;
  rmSync(join(world.home, 'sessions', tapeName('telegram:42')));
  clock.skip(LATER_MS);
  await told(
    world,
    /^⚠ The file of the conversation telegram:42, .*telegram%3a42\.jsonl, is gone\. I remember the conversation until I am restarted\./u,
  );
  await talk(world, 'do you remember?');
  expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('Answer to hello');
  const entries = await world.tape('telegram:42');
  expect(entries.filter(({ kind }) => kind === 'turn-end')).toHaveLength(1);
});

test('a conversation that was deleted on purpose is not missed', async () => {
  const { world } = await memoryWorld();
  await using _ = world;
  await world.assistant.call('sessionsDelete', { session: 'telegram:42' });
  await talk(world, 'hello once more');
  expect(warnings(world)).toEqual([]);
});

test('the doctor names a file that went while the assistant was off, and a tape that lacks answered messages', async () => {
  const { world } = await memoryWorld();
  await using _ = world;
  await world.assistant[Symbol.asyncDispose]();
  rmSync(join(world.workspace, 'memory', 'MEMORY.md'));
  rmSync(join(world.home, 'sessions', tapeName('telegram:42')));
  const { out } = await runCommand(['doctor', '--offline'], world.home);
  expect(out).toMatch(/MEMORY\.md is gone; on /u);
  expect(out).toMatch(/telegram%3a42\.jsonl is gone or lacks messages that were answered/u);
});

test('damage that is found before anybody wrote is told as soon as the owner does', async () => {
  const clock = new SkippingClock();
  await using world = await startDiscordWorld({
    clock,
    furnish: async (home) => writeFileSync(join(home, 'workspace', 'SOUL.md'), 'Be brief and kind. '.repeat(40)),
  });
  world.model.setHandler(() => 'Hello.');
  await look(world, clock, 'SOUL.md');
  truncateSync(join(world.workspace, 'SOUL.md'), 0);
  await look(world, clock, 'SOUL.md');
  clock.skip(LATER_MS);
  world.discord.sends(world.direct, world.owner, 'hello');
  await reads(world, world.direct, 'Hello.');
  clock.skip(LATER_MS);
  await reads(world, world.direct, /^⚠ workspace\/SOUL\.md is empty;/u, { timeoutMs: 10_000 });
  clock.skip(LATER_MS);
  await settle();
  expect(textsIn(world, world.direct).filter((text) => text.startsWith('⚠'))).toHaveLength(1);
});

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const DAY = 86_400_000;

async function say(world: World, text: string): Promise<string> {
  const known = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  return await waitFor(() => chatOf(world)[known], { what: `a reply to ${text}` });
}

/** The power goes: of the newest turn that ran no command only its tape is left, as when its last lazy commits are lost. */
function losePower({ home }: World): void {
  using db = new DatabaseSync(join(home, 'state.db'));
  const turn = db.prepare("SELECT max(id) AS id FROM turns WHERE outcome IS NOT 'command'").get()?.['id'];
  if (typeof turn !== 'string') throw new Error('there is no turn');
  db.prepare("UPDATE inbound SET state = 'accepted', turn_id = NULL WHERE turn_id = ?").run(turn);
  db.prepare('DELETE FROM outbound WHERE turn_id = ?').run(turn);
  db.prepare('DELETE FROM turns WHERE id = ?').run(turn);
  db.exec("INSERT OR REPLACE INTO opened (id, boot, lost) VALUES (1, 'an earlier run', 0)");
}

/** Goes down with the power and comes up a day earlier, as a machine without a clock of its own does. */
async function restartEarlier(world: World, clock: SkippingClock): Promise<void> {
  await world.assistant[Symbol.asyncDispose]();
  losePower(world);
  clock.jump(-DAY);
  await world.restart();
}

const failing = { error: { status: 402, message: 'This account is broken.' } };

test('after a restart with the clock put back by a day /retry takes the message that failed last, and /undo the newest', async () => {
  const clock = new SkippingClock();
  await using world = await startWorld({ clock });
  world.model.reply('The first answer.');
  expect(await say(world, 'the first question')).toBe('The first answer.');
  await world.assistant[Symbol.asyncDispose]();
  clock.jump(-DAY);
  await world.restart();
  world.model.reply(failing);
  expect(await say(world, 'the second question')).toMatch(/broken/u);
  world.model.reply('The second answer.');
  expect(await say(world, '/retry')).toBe('The second answer.');
  expect(world.model.requests.at(-1)?.view.lastUserText).toContain('the second question');
  expect(await say(world, '/undo')).toMatch(/^Undone: “the second question”/u);
});

describe('after a power loss that put the clock back by a day', () => {
  test('/retry takes the message that failed last, not the turn that was taken up from its tape', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock });
    world.model.reply('The first answer.');
    expect(await say(world, 'the first question')).toBe('The first answer.');
    await restartEarlier(world, clock);
    await waitFor(() => chatOf(world).length === 2, { what: 'the answer that was lost is said' });
    world.model.reply(failing);
    expect(await say(world, 'the second question')).toMatch(/broken/u);
    world.model.reply('The second answer.');
    expect(await say(world, '/retry')).toBe('The second answer.');
    expect(world.model.requests.at(-1)?.view.lastUserText).toContain('the second question');
    expect(world.model.requests).toHaveLength(3);
  });

  test('/undo takes the newest exchange back, and the next turn sees the one before', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock });
    world.model.reply('The first answer.');
    await say(world, 'the first question');
    await restartEarlier(world, clock);
    await waitFor(() => chatOf(world).length === 2, { what: 'the answer that was lost is said' });
    world.model.reply('The second answer.');
    await say(world, 'the second question');
    expect(await say(world, '/undo')).toMatch(/^Undone: “the second question”/u);
    world.model.reply('The third answer.');
    await say(world, 'the third question');
    const asked = JSON.stringify(world.model.requests.at(-1)?.body);
    expect(asked).toContain('the first question');
    expect(asked).not.toContain('the second question');
  });

  test('what is made afterwards has a greater id than all that was on a tape or in an archive', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock });
    world.model.reply('The first answer.');
    await say(world, 'the first question');
    expect(await say(world, '/mem remember the milk')).not.toBe('');
    world.model.reply('The second answer.');
    await say(world, 'the second question');
    expect(await say(world, '/new')).not.toBe('');
    await waitFor(() => archives(world).every(({ state }) => state === 'done'), { what: 'all is archived' });
    const before = archives(world).map(({ id }) => id);
    expect(before.length).toBeGreaterThanOrEqual(2);
    await world.assistant[Symbol.asyncDispose]();
    clock.jump(-DAY);
    await world.restart();
    world.model.reply('The third answer.');
    await say(world, 'the third question');
    expect(await say(world, '/new')).not.toBe('');
    await waitFor(() => archives(world).length > before.length, { what: 'another archive' });
    const newest = archives(world)
      .map(({ id }) => id)
      .find((id) => !before.includes(id));
    expect([...before, newest ?? ''].toSorted().at(-1)).toBe(newest);
  });
});

function archives({ home }: World): readonly { readonly id: string; readonly state: string }[] {
  using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  return db
    .prepare('SELECT id, state FROM archives')
    .all()
    .map(({ id, state }) => ({ id: String(id), state: String(state) }));
}

test('how long it has been running does not depend on the wall clock', async () => {
  const clock = new SkippingClock();
  await using world = await startWorld({ clock });
  for (const days of [-1, 30]) {
    clock.jump(days * DAY);
    expect(await say(world, '/status')).toMatch(/running for \d+ (?:s|min)$/mu);
  }
});

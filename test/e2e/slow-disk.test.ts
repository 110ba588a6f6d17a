import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/util/clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

/** From now on nothing that is synced (while this holds) is on the disk, until `release` is called or the result is disposed of. */
async function holdDisk(when = (): boolean => true): Promise<{ readonly release: () => void } & Disposable> {
  await using file = await open('/dev/null');
  const files: object = Object.getPrototypeOf(file);
  const usual = Object.getOwnPropertyDescriptor(files, 'datasync') ?? {};
  const disk = Promise.withResolvers<void>();
  Object.defineProperty(files, 'datasync', {
    ...usual,
    value(this: unknown) {
      return when() ? disk.promise : Reflect.apply(usual.value, this, []);
    },
  });
  const release = (): void => {
    Object.defineProperty(files, 'datasync', usual);
    disk.resolve();
  };
  return { release, [Symbol.dispose]: release };
}

/** Whether a turn is running, as the file of the journal says it. */
function hasTurn({ home }: World): boolean {
  const journal = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  try {
    return journal.prepare("SELECT 1 FROM turns WHERE state = 'running'").get() !== undefined;
  } finally {
    journal.close();
  }
}

const actions = ({ telegram }: World): readonly string[] =>
  telegram.calls.map(({ method }) => method).filter((method) => method.startsWith('send'));

describe('while the disk has not confirmed a message', () => {
  test('its turn is prepared, and nothing is written to its tape, asked of the model, sent or acknowledged', async () => {
    await using world = await startWorld();
    world.model.reply('First.', 'Second.');
    world.telegram.userSays(OWNER, 'one');
    await waitFor(() => chatOf(world).includes('First.'));
    await waitFor(() => !hasTurn(world));
    const before = { tape: await world.tape(`telegram:${OWNER}`), actions: actions(world) };

    using disk = await holdDisk();
    world.telegram.userSays(OWNER, 'two');
    await waitFor(() => hasTurn(world), { what: 'the turn began' });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await world.tape(`telegram:${OWNER}`)).toEqual(before.tape);
    expect(actions(world)).toEqual(before.actions);
    expect(world.model.requests).toHaveLength(1);
    expect(world.telegram.unconfirmed).toHaveLength(1);

    disk.release();
    await waitFor(() => chatOf(world).includes('Second.'));
    expect(world.model.requests).toHaveLength(2);
    await waitFor(() => world.telegram.unconfirmed.length === 0);
  });

  test('no command runs', async () => {
    await using world = await startWorld();
    using disk = await holdDisk();
    world.telegram.userSays(OWNER, '/new');
    world.telegram.userSays(OWNER, '/help');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(actions(world)).toEqual([]);
    expect(hasTurn(world)).toBe(false);
    disk.release();
    await waitFor(() => actions(world).filter((method) => method === 'sendMessage').length >= 2);
  });

  test('the time of its turn does not run', async () => {
    // A minute takes 300 ms.
    const clock = {
      ...systemClock,
      timer: (ms: number, call: () => void) => systemClock.timer(ms < 60_000 ? ms : ms / 200, call),
    };
    await using world = await startWorld({ clock, config: { agent: { turnTimeoutMinutes: 1 } } });
    world.model.reply('In time.');
    using disk = await holdDisk();
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => hasTurn(world), { what: 'the turn began' });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    disk.release();
    await waitFor(() => chatOf(world).length > 0);
    expect(chatOf(world)).toEqual(['In time.']);
  });
});

test('after a death of the process the model is asked when the turn is counted on the disk, so that one that dies at once is given up', async () => {
  await using world = await startWorld();
  world.model.reply('First.', 'Second.');
  world.telegram.userSays(OWNER, 'one');
  await waitFor(() => chatOf(world).includes('First.'));
  world.assistant.markCrashed();
  await world.restart();
  using disk = await holdDisk(() => hasTurn(world));
  world.telegram.userSays(OWNER, 'two');
  await waitFor(() => hasTurn(world), { what: 'the turn began' });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(world.model.requests).toHaveLength(1);
  disk.release();
  await waitFor(() => chatOf(world).includes('Second.'));
});

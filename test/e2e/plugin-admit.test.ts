import { describe, expect, test, vi } from 'vitest';
import type { Hooks } from '../../src/core/agent/hooks/hooks.ts';
import { Inbox } from '../../src/core/journal/inbox.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World, type WorldOptions } from '../support/world.ts';

const SESSION = `telegram:${OWNER}`;
const PHOTO = Buffer.from('R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==', 'base64');
const LOOK = { calls: [{ name: 'list_dir', arguments: {} }] };

interface Watched {
  readonly world: World;
  /** The words of each message that the hook was shown. */
  readonly shown: readonly string[];
}

/** A plugin that puts a mark on what it lets in, or decides as it is told. */
async function watched(
  options: WorldOptions = {},
  decide: (text: string) => ReturnType<NonNullable<Hooks['admit']>> | null = () => null,
): Promise<Watched> {
  const shown: string[] = [];
  const admit: Hooks['admit'] = (message) => {
    shown.push(message.text);
    return decide(message.text) ?? { type: 'replace', value: { ...message, text: `${message.text} [checked]` } };
  };
  return { world: await startWorld({ ...options, hooks: [{ owner: 'marks', hooks: { admit } }] }), shown };
}

const accepted = (world: World): Promise<unknown> =>
  waitFor(() => world.telegram.unconfirmed.length === 0, { what: 'everything is accepted' });
const replies = (world: World, count: number): Promise<unknown> =>
  waitFor(() => chatOf(world).length >= count, { what: `${count} replies` });
const read = (world: World): string => JSON.stringify(world.model.requests.at(-1)?.body['messages']);
const marks = (world: World): readonly string[] => read(world).match(/(?:one|two|three)(?: \[checked\])+/gu) ?? [];

/** A turn whose first model call waits, with these messages behind it. */
async function behind(world: World, ...texts: readonly string[]): Promise<() => void> {
  const gate = Promise.withResolvers<void>();
  world.model.setHandler(async ({ index }) => {
    if (index > 0) return 'Done.';
    await gate.promise;
    return LOOK;
  });
  world.telegram.userSays(OWNER, 'one');
  await waitFor(() => world.model.inFlight === 1, { what: 'a model call' });
  for (const text of texts) world.telegram.userSays(OWNER, text);
  await accepted(world);
  return gate.resolve;
}

describe('a message that joins a running turn', () => {
  test('is shown to the plugins once, and the model reads what they made of it', async () => {
    const { world, shown } = await watched();
    await using _world = world;
    const release = await behind(world, 'two', 'three');
    release();
    await replies(world, 1);
    expect(world.model.requests).toHaveLength(2);
    expect(marks(world)).toEqual(['one [checked]', 'two [checked]', 'three [checked]']);
    expect(shown).toEqual(['one', 'two', 'three']);
  });

  test('does not join when a plugin refuses it: its reply is the reason, and what came after it follows', async () => {
    const { world, shown } = await watched({}, (text) =>
      text === 'two' ? { type: 'deny', reason: 'Not two.' } : null,
    );
    await using _world = world;
    const release = await behind(world, 'two', 'three');
    release();
    await replies(world, 3);
    expect(chatOf(world)).toEqual(['Done.', 'Not two.', 'Done.']);
    expect(marks(world)).toEqual(['one [checked]', 'three [checked]']);
    expect(read(world)).not.toContain('two');
    expect(shown).toEqual(['one', 'two', 'three']);
  });

  test('does not join when a plugin takes rights from it that the turn has', async () => {
    const admit: Hooks['admit'] = (message) =>
      message.text === 'two' ? { type: 'replace', value: { ...message, role: 'guest' } } : undefined;
    await using world = await startWorld({ hooks: [{ owner: 'lowers', hooks: { admit } }] });
    const release = await behind(world, 'two');
    release();
    await replies(world, 2);
    const starts = (await world.tape(SESSION)).filter((entry) => entry.kind === 'turn-start');
    expect(starts.map(({ role }) => role)).toEqual(['owner', 'guest']);
  });
});

test('/retry gives the model what the plugins made of the message', async () => {
  const { world, shown } = await watched();
  await using _world = world;
  world.model.setHandler(() => 'Done.');
  world.telegram.userSays(OWNER, 'one');
  await replies(world, 1);
  world.telegram.userSays(OWNER, '/retry');
  await replies(world, 2);
  expect(marks(world)).toEqual(['one [checked]']);
  expect(shown).toEqual(['one']);
});

test('an answer that a plugin refuses to render is not sent', async () => {
  const render: Hooks['render'] = (_turn, text) =>
    text.includes('secret') ? { type: 'deny', reason: 'No.' } : undefined;
  await using world = await startWorld({ hooks: [{ owner: 'quiet', hooks: { render } }] });
  world.model.reply('A secret.', 'Plain.');
  world.telegram.userSays(OWNER, 'one');
  await waitFor(async () => (await world.tape(SESSION)).some(({ kind }) => kind === 'turn-end'));
  world.telegram.userSays(OWNER, 'two');
  await replies(world, 1);
  expect(chatOf(world)).toEqual(['Plain.']);
});

describe('after the process ended', () => {
  test.each([
    ['before its turn was on the tape', false],
    ['before it had joined a turn', true],
  ])('a message is shown to the plugins again %s, and what they make of it is read once', async (_when, joins) => {
    const clock = new SkippingClock();
    const { world } = await watched({ clock });
    await using _world = world;
    world.telegram.addFile('p1', PHOTO, 'photos/p1.gif');
    let isHeld = true;
    world.telegram.setFaultHandler(({ method }) => (method === 'getFile' && isHeld ? 'hang' : undefined));
    const release = joins ? await behind(world) : null;
    if (!joins) world.model.setHandler(() => 'Done.');
    const photo = [{ file_id: 'p1', file_size: PHOTO.length }];
    world.telegram.userSays(OWNER, '', { text: undefined, photo, caption: 'two' });
    await accepted(world);
    release?.();
    const asked = (): boolean => world.telegram.calls.some(({ method }) => method === 'getFile');
    await waitFor(asked, { what: 'the photo is asked for' });
    await world.assistant[Symbol.asyncDispose]();
    isHeld = false;
    await world.restart();
    await waitFor(
      () => {
        clock.skip(2_000);
        return chatOf(world).length === 1;
      },
      { what: 'the answer' },
    );
    expect(marks(world)).toEqual(joins ? ['one [checked]', 'two [checked]'] : ['two [checked]']);
  });

  test('a message that joined before is not shown again', async () => {
    const { world, shown } = await watched();
    await using _world = world;
    const release = await behind(world, 'two');
    world.model.setHandler(() => ({ fault: 'hang' }));
    release();
    await waitFor(() => world.model.requests.length === 2, { what: 'a second model call' });
    await world.assistant[Symbol.asyncDispose]();
    world.model.setHandler(() => 'Done.');
    await world.restart();
    await replies(world, 1);
    expect(marks(world)).toEqual(['one [checked]', 'two [checked]']);
    expect(shown).toEqual(['one', 'two']);
  });

  test('a message that they refuse now ends its turn with the reason', async () => {
    const clock = new SkippingClock();
    let isOpen = true;
    const { world } = await watched({ clock }, () => (isOpen ? null : { type: 'deny', reason: 'Closed.' }));
    await using _world = world;
    world.telegram.addFile('p1', PHOTO, 'photos/p1.gif');
    world.telegram.setFaultHandler(({ method }) => (method === 'getFile' ? 'hang' : undefined));
    const photo = [{ file_id: 'p1', file_size: PHOTO.length }];
    world.telegram.userSays(OWNER, '', { text: undefined, photo, caption: 'two' });
    await waitFor(() => world.telegram.calls.some(({ method }) => method === 'getFile'));
    await world.assistant[Symbol.asyncDispose]();
    isOpen = false;
    await world.restart();
    await replies(world, 1);
    expect(chatOf(world)).toEqual(['Closed.']);
    expect(world.model.requests).toHaveLength(0);
  });
});

test('a turn looks for corrections once while no message comes, however often it could use one', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'Done.');
  const waiting = vi.spyOn(Inbox.prototype, 'waiting');
  world.telegram.userSays(OWNER, 'hello');
  await replies(world, 1);
  // Others ask for fewer messages.
  expect(waiting.mock.calls.filter(([, limit]) => limit === 64)).toHaveLength(1);
  waiting.mockRestore();
});

import { describe, expect, test } from 'vitest';
import type { HookSet } from '../../src/core/agent/hooks/hooks.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const SESSION = `telegram:${OWNER}`;
const OLD = 'pay Bob 1000';
const NEW = 'pay Bob 10';
const PHOTO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

interface Photo {
  readonly world: World;
  readonly clock: SkippingClock;
  /** A photo that is not given out, however often it is asked for. */
  readonly sends: (caption: string) => number;
  readonly edits: (messageId: number, caption: string) => Promise<void>;
  readonly asked: () => boolean;
  /** From now on the photo is given out. */
  readonly release: () => void;
}

/** A chat in which photos are slow. */
function slowPhotos(world: World, clock: SkippingClock): Photo {
  let isHeld = true;
  world.telegram.addFile('p1', PHOTO, 'photos/p1.jpg');
  world.telegram.setFaultHandler(({ method }) => (method === 'getFile' && isHeld ? 'hang' : undefined));
  const withPhoto = (caption: string): Record<string, unknown> => ({
    text: undefined,
    photo: [{ file_id: 'p1', file_size: PHOTO.length }],
    caption,
  });
  return {
    world,
    clock,
    sends: (caption) => world.telegram.userSays(OWNER, '', withPhoto(caption)).messageId,
    edits: async (messageId, caption) => {
      world.telegram.userEdits(OWNER, messageId, '', withPhoto(caption));
      await accepted(world);
    },
    asked: () => world.telegram.calls.some(({ method }) => method === 'getFile'),
    release: () => {
      isHeld = false;
    },
  };
}

const accepted = (world: World): Promise<unknown> =>
  waitFor(() => world.telegram.unconfirmed.length === 0, { what: 'all is accepted' });

/** Waits for so many replies; what is tried again after a while is tried at once. */
const replies = (world: World, clock: SkippingClock, count: number): Promise<unknown> =>
  waitFor(
    () => {
      clock.skip(1_000);
      return chatOf(world).length >= count;
    },
    { what: `${count} replies` },
  );

const NO_MALLORY: HookSet = {
  owner: 'no-mallory',
  guard: true,
  hooks: {
    admit: ({ text }) => (text.includes('Mallory') ? { type: 'deny', reason: 'Not Mallory.' } : undefined),
  },
};

const bodies = (world: World): string => JSON.stringify(world.model.requests.map(({ body }) => body));

describe('an edit of a message that its turn has taken', () => {
  test('takes its place while its photo is being fetched: the model reads the new words only', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock });
    const photos = slowPhotos(world, clock);
    const id = photos.sends(OLD);
    await waitFor(photos.asked, { what: 'the photo is asked for' });
    await photos.edits(id, 'pay Bob 100');
    await photos.edits(id, NEW);
    world.model.setHandler(() => 'Paid.');
    photos.release();
    await replies(world, clock, 1);
    expect(world.model.requests).toHaveLength(1);
    expect(bodies(world)).toContain(`"${NEW}"`);
    expect(bodies(world)).toContain(PHOTO.toString('base64'));
    expect(bodies(world)).not.toContain('pay Bob 100');
    await world.restart();
    expect(await world.assistant.call('inboxList', {})).toEqual([]);
    expect(chatOf(world)).toEqual(['Paid.']);
  });

  test('wins over a restart in the middle of it too', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock });
    const photos = slowPhotos(world, clock);
    const id = photos.sends(OLD);
    await waitFor(photos.asked, { what: 'the photo is asked for' });
    await photos.edits(id, NEW);
    world.model.setHandler(() => 'Paid.');
    await world.assistant[Symbol.asyncDispose]();
    photos.release();
    await world.restart();
    await replies(world, clock, 1);
    expect(world.model.requests).toHaveLength(1);
    expect(bodies(world)).toContain(`"${NEW}"`);
    expect(bodies(world)).not.toContain(OLD);
  });

  test('is read with it while it waits for a model that is busy, before anything is done about it', async () => {
    await using world = await startWorld({ config: { agent: { maxConcurrentTurns: 1 } } });
    const gate = Promise.withResolvers<void>();
    world.model.setHandler(async ({ view }) => {
      if (!view.lastUserText.includes('Bob')) await gate.promise;
      return view.lastUserText.includes('Bob') ? 'Paid.' : 'Done.';
    });
    const other = world.assistant.run('a long job');
    await waitFor(() => world.model.inFlight === 1, { what: 'the model is busy' });
    const { messageId } = world.telegram.userSays(OWNER, OLD);
    await waitFor(async () => JSON.stringify(await world.tape(SESSION)).includes(OLD), { what: 'the turn has begun' });
    world.telegram.userEdits(OWNER, messageId, NEW);
    await accepted(world);
    gate.resolve();
    expect((await other).text).toBe('Done.');
    await waitFor(() => chatOf(world).length === 1, { what: 'the answer' });
    expect(world.model.requests).toHaveLength(2);
    expect(world.model.requests[1]?.view.lastUserText).toContain(
      `[edited an earlier message, which now says:]\n${NEW}`,
    );
    world.telegram.userSays(OWNER, 'thanks, Bob');
    await waitFor(() => chatOf(world).length === 2, { what: 'the next answer' });
    expect(world.model.requests).toHaveLength(3);
  });

  test('wins while a hook decides whether it gets a turn', async () => {
    const gate = Promise.withResolvers<undefined>();
    const seen: string[] = [];
    await using world = await startWorld({
      hooks: [
        {
          owner: 'slow',
          hooks: {
            admit: ({ text }) => {
              seen.push(text);
              return gate.promise;
            },
          },
        },
      ],
    });
    const { messageId } = world.telegram.userSays(OWNER, OLD);
    await waitFor(() => seen.length === 1, { what: 'the hook is asked' });
    world.telegram.userEdits(OWNER, messageId, NEW);
    await accepted(world);
    world.model.setHandler(() => 'Paid.');
    gate.resolve(undefined);
    await waitFor(() => chatOf(world).length === 1, { what: 'the answer' });
    expect(world.model.requests).toHaveLength(1);
    expect(bodies(world)).not.toContain(OLD);
    expect(seen).toEqual([OLD, NEW]);
  });

  test('that joins a running turn is read with it while its photo is being fetched', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock });
    const photos = slowPhotos(world, clock);
    const gate = Promise.withResolvers<void>();
    world.model.setHandler(async ({ index }) => {
      if (index > 0) return 'Paid.';
      await gate.promise;
      return { calls: [{ name: 'list_dir', arguments: { path: '.' } }] };
    });
    world.telegram.userSays(OWNER, 'look around');
    await waitFor(() => world.model.inFlight === 1, { what: 'the model is asked' });
    const id = photos.sends(OLD);
    await accepted(world);
    gate.resolve();
    await waitFor(photos.asked, { what: 'the photo is asked for' });
    await photos.edits(id, NEW);
    photos.release();
    await replies(world, clock, 1);
    expect(world.model.requests).toHaveLength(2);
    const asked = JSON.stringify(world.model.requests[1]?.body);
    expect(asked.lastIndexOf(`"${NEW}"`)).toBeGreaterThan(asked.lastIndexOf(`"${OLD}"`));
  });

  test('that joins a running turn does not get past a guard either: its sender reads why', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock, hooks: [NO_MALLORY] });
    const photos = slowPhotos(world, clock);
    const gate = Promise.withResolvers<void>();
    world.model.setHandler(async ({ index }) => {
      if (index > 0) return 'Paid.';
      await gate.promise;
      return { calls: [{ name: 'list_dir', arguments: { path: '.' } }] };
    });
    world.telegram.userSays(OWNER, 'look around');
    await waitFor(() => world.model.inFlight === 1, { what: 'the model is asked' });
    const id = photos.sends(NEW);
    await accepted(world);
    gate.resolve();
    await waitFor(photos.asked, { what: 'the photo is asked for' });
    await photos.edits(id, 'pay Mallory 10');
    photos.release();
    await replies(world, clock, 2);
    expect(chatOf(world)).toContain('Not Mallory.');
    expect(bodies(world)).not.toContain('Mallory');
  });

  test('does not get past a guard: what the guard refuses is refused, and the old words stand', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock, hooks: [NO_MALLORY] });
    const photos = slowPhotos(world, clock);
    const id = photos.sends(NEW);
    await waitFor(photos.asked, { what: 'the photo is asked for' });
    await photos.edits(id, 'pay Mallory 10');
    world.model.setHandler(() => 'Paid.');
    photos.release();
    await replies(world, clock, 2);
    expect(chatOf(world)).toEqual(['Paid.', 'Not Mallory.']);
    expect(world.model.requests).toHaveLength(1);
    expect(bodies(world)).not.toContain('Mallory');
  });

  test('is a message of its own once the model has read it', async () => {
    await using world = await startWorld({ config: { agent: { whenBusy: 'queue' } } });
    const gate = Promise.withResolvers<void>();
    world.model.setHandler(async ({ index }) => {
      if (index === 0) await gate.promise;
      return index === 0 ? 'Paid 1000.' : 'That was too late.';
    });
    const { messageId } = world.telegram.userSays(OWNER, OLD);
    await waitFor(() => world.model.inFlight === 1, { what: 'the model reads it' });
    world.telegram.userEdits(OWNER, messageId, NEW);
    await accepted(world);
    gate.resolve();
    await waitFor(() => chatOf(world).length === 2, { what: 'both answers' });
    expect(chatOf(world)).toEqual(['Paid 1000.', 'That was too late.']);
    expect(world.model.requests[1]?.view.lastUserText).toContain(NEW);
  });
});

import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GuestFiles } from '../../src/core/channels/inbound/guest-files.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World, type WorldOptions } from '../support/world.ts';
import { note } from './memory-world.ts';

const MB = 1024 * 1024;
const GUEST = 77;
const OTHER_GUEST = 78;
/** SHA-256 of `abcdef`. */
const HASH = 'bef57ec7f53a6d40beb640a780a639c83bc29ac8a9816f1fc6c5c6dcd93c4721';
const USED_UP = 'I stopped because today’s budget for guests is used up. The owner can raise it.';

const everybody = (options: WorldOptions = {}, budget: object = {}): Promise<World> =>
  startWorld({
    ...options,
    config: {
      agent: { budget },
      channels: { telegram: { allowFrom: [String(OWNER), '*'], owners: [String(OWNER)] } },
    },
  });

async function says(world: World, chat: number, text: string, answer: string): Promise<void> {
  const before = chatOf(world, chat).filter((said) => said === answer).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).filter((said) => said === answer).length > before, { what: answer });
}

describe('guests share a daily limit of tokens', () => {
  test('after which each guest reads one sentence, the owner hears of it once, and is answered as before', async () => {
    await using world = await everybody({}, { guestDayTokens: 100 });
    world.model.setHandler(() => ({ text: 'Hello.', usage: { input: 90, cached: 0, output: 20 } }));
    await says(world, OWNER, 'hi', 'Hello.');
    await says(world, GUEST, 'hi', 'Hello.');
    const asked = world.model.requests.length;
    await says(world, OTHER_GUEST, 'hi', USED_UP);
    await says(world, GUEST, 'hi again', USED_UP);
    expect(world.model.requests.length).toBe(asked);
    await says(world, OWNER, 'and I?', 'Hello.');
    const told = (): readonly string[] => chatOf(world).filter((text) => text.startsWith('Guests have used up'));
    await waitFor(() => told().length > 0);
    await world.restart();
    await says(world, GUEST, 'after a restart', USED_UP);
    expect(told()).toHaveLength(1);
    expect(told()[0]).toContain('agent.budget.guestDayTokens');
  });

  test('of which a running turn keeps its share from the others', async () => {
    await using world = await everybody({}, { guestDayTokens: 100 });
    const answered = Promise.withResolvers<void>();
    world.model.setHandler(async () => {
      await answered.promise;
      return { text: 'Hello.', usage: { input: 60, cached: 0, output: 20 } };
    });
    world.telegram.userSays(GUEST, 'hi');
    await waitFor(() => world.model.requests.length === 1);
    await says(world, OTHER_GUEST, 'hi', USED_UP);
    expect(world.model.requests).toHaveLength(1);
    answered.resolve();
    await waitFor(() => chatOf(world, GUEST).includes('Hello.'));
    await says(world, OTHER_GUEST, 'and now?', 'Hello.');
    expect(chatOf(world).filter((text) => text.startsWith('Guests have used up'))).toEqual([]);
  });

  test('of which the summary of a conversation is a part', async () => {
    await using world = await everybody({}, { guestDayTokens: 100 });
    world.model.setHandler(() => ({ text: 'Hello.', usage: { input: 20, cached: 0, output: 10 } }));
    world.model.setAside(() => ({
      calls: [{ name: 'save_memory', arguments: { history_entry: 'The guest said hi.' } }],
      usage: { input: 90, cached: 0, output: 10 },
    }));
    await says(world, GUEST, 'hi', 'Hello.');
    world.telegram.userSays(GUEST, '/new');
    await waitFor(() => world.model.asides.length === 1);
    await waitFor(async () => (await note(world, 'HISTORY.md')).includes('The guest said hi.'));
    await says(world, GUEST, 'hi again', USED_UP);
  });

  test('which is 200,000 tokens unless the configuration says otherwise', async () => {
    await using world = await everybody();
    world.model.setHandler(() => ({ text: 'Hello.', usage: { input: 190_000, cached: 0, output: 10_000 } }));
    await says(world, GUEST, 'hi', 'Hello.');
    await says(world, OTHER_GUEST, 'hi', USED_UP);
  });

  test('and is off with null', async () => {
    await using world = await everybody({}, { guestDayTokens: null });
    world.model.setHandler(() => ({ text: 'Hello.', usage: { input: 900_000, cached: 0, output: 10_000 } }));
    await says(world, GUEST, 'hi', 'Hello.');
    await says(world, OTHER_GUEST, 'hi', 'Hello.');
  });
});

describe('guests’ files take 500 MB together', () => {
  /** A file without content that counts as this large. */
  const sparse = async (path: string, bytes: number, age: number): Promise<void> => {
    await mkdir(join(path, '..'), { recursive: true });
    await using file = await open(path, 'w');
    await file.truncate(bytes);
    const at = Date.now() / 1000 - age;
    await utimes(path, at, at);
  };
  const send = (world: World, chat: number, name: string): void => {
    world.telegram.addFile(name, Buffer.alloc(2 * MB, 'x'), `documents/${name}`);
    const document = { file_id: name, file_unique_id: name, file_name: name, mime_type: 'application/pdf' };
    world.telegram.userSays(chat, '', { text: undefined, document, caption: name });
  };

  test('then the oldest of all guests goes first, and nothing of the owner', async () => {
    const folder = (home: string, chat: number): string => join(home, 'media', `telegram_${chat}`);
    await using world = await everybody({
      furnish: async (home) => {
        await sparse(join(folder(home, 5), '01A-0~oldest.bin'), 300 * MB, 900);
        await sparse(join(folder(home, 6), '01B-0~newer.bin'), 199 * MB, 600);
        await sparse(join(folder(home, OWNER), '01C-0-mine.bin'), 900 * MB, 9_000);
      },
    });
    world.model.setHandler(() => 'Seen.');
    const kept = (): readonly boolean[] =>
      ['5/01A-0~oldest.bin', '6/01B-0~newer.bin', `${OWNER}/01C-0-mine.bin`].map((path) =>
        existsSync(join(world.home, 'media', `telegram_${path}`)),
      );
    send(world, OWNER, 'a.pdf');
    await waitFor(() => chatOf(world).length > 0);
    expect(kept()).toEqual([true, true, true]);
    send(world, GUEST, 'b.pdf');
    await waitFor(() => chatOf(world, GUEST).length > 0);
    expect(kept()).toEqual([false, true, true]);
    send(world, OTHER_GUEST, 'c.pdf');
    await waitFor(() => chatOf(world, OTHER_GUEST).length > 0);
    expect(kept()).toEqual([false, true, true]);
    // They are larger than what the end of the test can read.
    await rm(join(world.home, 'media'), { recursive: true });
  });

  test('no guest’s file is fetched while the disk is nearly full, and the guest is still answered', async () => {
    await using folder = await tempFolder();
    const full = new GuestFiles(folder.path, { leastFree: Number.MAX_SAFE_INTEGER });
    await expect(full.requireSpace()).rejects.toThrow('the disk of this machine is nearly full');
    await expect(new GuestFiles(folder.path, { leastFree: 1 }).requireSpace()).resolves.toBeUndefined();
  });

  test.each([
    ['goes with its copy that all sessions share', 0, ['s']],
    ['leaves the copy that somebody else had sent before', 600_000, [HASH, 's']],
    ['leaves the copy that somebody else has sent since', -600_000, [HASH, 's']],
  ])('an image %s', async (_what, laterMs, left) => {
    await using folder = await tempFolder();
    const files = new GuestFiles(folder.path, { mostBytes: 10 });
    const path = join(folder.path, 's', 'a~x.png');
    await mkdir(join(folder.path, 's'));
    await files.makeRoom(path, 6);
    await writeFile(join(folder.path, HASH), 'abcdef');
    await writeFile(path, 'abcdef');
    const sent = new Date(Date.now() + laterMs);
    await utimes(path, sent, sent);
    await files.makeRoom(join(folder.path, 's', 'b~y.png'), 6);
    expect(await readdir(join(folder.path))).toEqual(left);
    expect(await readdir(join(folder.path, 's'))).toEqual([]);
  });

  test('an image and its copy count alike before a restart and after it', async () => {
    await using world = await everybody();
    world.model.setHandler(() => 'Seen.');
    const photo = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(1_000)]);
    world.telegram.addFile('p', photo, 'photos/p.png');
    const sizes = { file_id: 'p', file_unique_id: 'p', width: 10, height: 10, file_size: photo.length };
    world.telegram.userSays(GUEST, '', { text: undefined, photo: [sizes], caption: 'Look.' });
    await waitFor(() => chatOf(world, GUEST).length > 0);
    const media = join(world.home, 'media');
    const of = (await readdir(media)).find((one) => one.startsWith(`telegram_${GUEST}`)) ?? '';
    const folder = join(media, of);
    const [name = ''] = await readdir(folder);
    const next = join(folder, '01Z-0~next.bin');
    const files = (spare: number): GuestFiles => new GuestFiles(media, { mostBytes: 2 * photo.length + spare });
    await files(10).makeRoom(next, 10);
    expect(existsSync(join(folder, name))).toBe(true);
    await files(9).makeRoom(next, 10);
    expect(existsSync(join(folder, name))).toBe(false);
  });
});

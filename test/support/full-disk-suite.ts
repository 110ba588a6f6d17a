import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { whyNoDiskLibrary } from './disk-library.ts';
import { OWNER, startSmallDisk, whyNoSmallDisks, type SmallDiskWorld } from './small-disk.ts';
import { waitFor } from './wait.ts';

const HEALED = /can be written again, after/u;

interface Trouble {
  /** As /health calls it. */
  readonly state: string;
  /** What the one notice says. */
  readonly notice: RegExp;
  readonly spoil: () => Promise<void> | void;
  readonly heal: () => Promise<void> | void;
}

/** How the daemon lives through a disk that takes nothing for `downMs`. Skips with a reason where none can be made. */
export async function fullDiskSuite({
  downMs,
  people,
  atStart,
}: {
  readonly downMs: number;
  readonly people: number;
  readonly atStart: readonly ('full' | 'read-only')[];
}): Promise<void> {
  const why = whyNoSmallDisks();
  if (why !== null) process.stderr.write(`small disks are not tested: ${why}\n`);
  const noSwitch = await whyNoDiskLibrary();
  const patient = { timeoutMs: downMs + 60_000 };

  async function isServing(world: SmallDiskWorld): Promise<void> {
    try {
      await waitFor(async () => (await world.health())?.status === 200, patient);
    } catch (error) {
      const health = JSON.stringify(await world.health());
      throw new Error(`the gateway does not serve: ${health}\n${world.log().slice(-4_000)}`, { cause: error });
    }
  }

  const chats = Array.from({ length: people }, (_, n) => OWNER + n);

  /** Messages go on coming while the disk is spoiled; then all are answered, and the owner heard of it once. */
  async function underLoad(world: SmallDiskWorld, trouble: Trouble): Promise<void> {
    world.start();
    await isServing(world);
    const said: { chat: number; text: string }[] = [];
    const say = (): void => {
      const chat = chats[said.length % chats.length] ?? OWNER;
      const text = `m${said.length}`;
      said.push({ chat, text });
      world.telegram.userSays(chat, text);
    };
    for (let n = 0; n < people; n += 1) say();
    await waitFor(() => world.chat().length > 0, patient);
    await trouble.spoil();
    const until = performance.now() + downMs;
    while (performance.now() < until) {
      say();
      await delay(downMs / 40);
    }
    expect(await world.health()).toEqual({ status: 503, storage: trouble.state });
    expect(notices(world)).toEqual([expect.stringMatching(trouble.notice)]);
    await trouble.heal();
    await waitFor(() => unanswered(world, said).length === 0, { ...patient, what: 'every answer' });
    await waitFor(() => world.chat().some((text) => HEALED.test(text)), patient);
    expect(notices(world)).toHaveLength(1);
    expect(world.chat().filter((text) => HEALED.test(text))).toHaveLength(1);
    expect(await world.health()).toEqual({ status: 200, storage: 'ok' });
    expect(world.telegram.sentMessages.filter(({ visibleText }) => /Something went wrong/u.test(visibleText))).toEqual(
      [],
    );
  }

  describe.skipIf(why !== null)('a disk that cannot be written', { timeout: 3 * downMs + 180_000 }, () => {
    test('and fills up under load costs no message: each is answered once there is room, and the owner is told once', async () => {
      await using world = await startSmallDisk({ disk: { megabytes: 24 }, people: chats });
      await underLoad(world, {
        state: 'full',
        notice: /is full/u,
        spoil: () => world.fill(),
        heal: () => world.free(),
      });
    });

    test.each(atStart)('is %s at the start: it waits, says so everywhere, and goes on by itself', async (state) => {
      await using world = await startSmallDisk({ disk: { megabytes: 24 } });
      world.start();
      await isServing(world);
      world.telegram.userSays(OWNER, 'before');
      await waitFor(() => world.chat().includes('Answer to before'), patient);
      await world.stop();
      await (state === 'full' ? world.fill() : world.setReadOnly(true));

      const alone = await world.run('chat', '-m', 'hello');
      expect(alone.code).not.toBe(0);
      expect(alone.said).toContain(world.home);
      expect(alone.said).not.toMatch(/unexpected|may be removed|at .*\.ts:\d/u);

      world.start();
      await waitFor(async () => (await world.health())?.status === 503, patient);
      expect(await world.health()).toEqual({ status: 503, storage: state });
      world.telegram.userSays(OWNER, 'meanwhile');
      await waitFor(() => world.chat().some((text) => /stay with the chat platform/u.test(text)), patient);
      if (state === 'full')
        expect((await world.run('status')).said).toMatch(/is full.*continues its start by itself/su);
      await delay(downMs);
      expect(world.chat().filter((text) => /stay with the chat platform/u.test(text))).toHaveLength(1);
      expect(world.telegram.unconfirmed).toHaveLength(1);
      expect(world.log()).toContain('start: waits until the home can be written');

      await (state === 'full' ? world.free() : world.setReadOnly(false));
      await waitFor(() => world.chat().includes('Answer to meanwhile'), patient);
      await waitFor(() => world.chat().some((text) => HEALED.test(text)), patient);
      expect(await world.health()).toEqual({ status: 200, storage: 'ok' });
    });
  });
  describe.skipIf(noSwitch !== undefined)(
    `a disk that turns read-only${noSwitch === undefined ? '' : ` (${noSwitch})`}`,
    { timeout: 3 * downMs + 180_000 },
    () => {
      test('under load costs no message: each is answered once it is writable, and the owner is told once', async () => {
        await using world = await startSmallDisk({ disk: 'switched', people: chats });
        await underLoad(world, {
          state: 'read-only',
          notice: /findmnt -T .* shows whether its disk is mounted read-only/u,
          spoil: () => world.setReadOnly(true),
          heal: () => world.setReadOnly(false),
        });
      });
    },
  );
}

/** What the owner was told about the disk, but that it is well again. */
function notices(world: SmallDiskWorld): readonly string[] {
  return world.chat().filter((text) => text.startsWith('⚠') && !HEALED.test(text));
}

function unanswered(world: SmallDiskWorld, said: readonly { chat: number; text: string }[]): readonly string[] {
  const answered = new Map<number, string>();
  for (const { chatId, visibleText } of world.telegram.sentMessages)
    answered.set(chatId, `${answered.get(chatId) ?? ''}\n${visibleText}\n`);
  return said.filter(({ chat, text }) => !answered.get(chat)?.includes(`Answer to ${text}\n`)).map(({ text }) => text);
}

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { InboundDraft, Media } from '../../src/core/bus/messages.ts';
import type { Channel, OutgoingPart } from '../../src/core/channels/channel.ts';
import { ChannelManager } from '../../src/core/channels/manager.ts';
import { channelSource, type ChannelConfig } from '../../src/core/channels/registry.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { ChangingPermit } from '../support/changing-permit.ts';
import { steadyRandom } from '../support/delivery-world.ts';
import { somebody } from '../support/discord-world.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { KINDS } from '../support/extensions.ts';
import { storageHealth } from '../support/healthy-storage.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const signal = new AbortController().signal;

let parts = 0;
function part(chatId: string, more: Partial<OutgoingPart> = {}): OutgoingPart {
  parts += 1;
  return { messageId: 'm', kind: 'answer', chatId, text: 'hello', media: [], nonce: `n${parts}`, ...more };
}

type Call = (channel: Channel, chatId: string, picture: Media) => Promise<unknown> | undefined;

const CALLS: readonly (readonly [string, Call])[] = [
  ['message', (to, chatId) => to.send(part(chatId), signal)],
  ['file', (to, chatId, picture) => to.send(part(chatId, { text: '', media: [picture] }), signal)],
  ['edit', (to, chatId) => to.edit?.({ ...part(chatId), platformId: '1700000000.000100' }, signal)],
  ['draft', (to, chatId) => to.draft?.(part(chatId), signal)],
  ['typing sign', (to, chatId) => to.typing?.({ chatId }, signal)],
  ['reaction', (to, chatId) => to.react?.({ chatId, platformId: '1' }, { add: '👍', remove: [] }, signal)],
];

const LACKS: Readonly<Record<string, readonly string[]>> = { discord: ['draft'], slack: ['draft', 'typing sign'] };

/** A platform with one chat. */
interface Double extends AsyncDisposable {
  readonly config: ChannelConfig;
  readonly chatId: string;
  /** What the bot did there, in any way that people see. */
  readonly done: () => number;
  readonly isConnected: () => boolean;
  /** Somebody who is not listed writes. */
  readonly strangerWrites: () => void;
  /** What the platform would bring again, since nobody confirmed it. */
  readonly kept: () => number;
}

const doubles: Readonly<Record<string, () => Promise<Double>>> = {
  telegram: async () => {
    const server = await startFakeTelegram();
    return {
      config: { token: server.token, apiRoot: server.apiRoot, allowFrom: ['7'] },
      chatId: '7',
      done: () => server.calls.filter(({ method }) => /^(?:send|edit|setMessageReaction)/u.test(method)).length,
      isConnected: () => server.polling,
      strangerWrites: () => void server.userSays(9, 'hello'),
      kept: () => server.unconfirmed.length,
      [Symbol.asyncDispose]: () => server.close(),
    };
  },
  discord: async () => {
    const server = await startFakeDiscord();
    const person = somebody('Olive');
    const place = server.direct(person);
    return {
      config: { token: server.token, apiBase: server.apiBase, allowFrom: [person.id] },
      chatId: place.id,
      done: () => server.calls.filter(({ route }) => /^(?:POST|PATCH|PUT|DELETE) \/channels/u.test(route)).length,
      isConnected: () => server.gateway.isConnected,
      strangerWrites: () => {},
      kept: () => 0,
      [Symbol.asyncDispose]: () => server.close(),
    };
  },
  slack: async () => {
    const server = await startFakeSlack();
    server.workspace.addPerson('U0OWNER', 'Olive');
    server.workspace.addPerson('U0OTHER', 'Otto');
    return {
      config: { ...server.config, allowFrom: ['U0OWNER'] },
      chatId: 'D0OWNER',
      done: () =>
        server.calls.filter(({ method }) => /^(?:chat|reactions|files)\./u.test(method) && !method.endsWith('.info'))
          .length,
      isConnected: () => server.sockets.count > 0,
      strangerWrites: () => void server.sends('U0OTHER', 'D0OTHER', 'hello'),
      kept: () => server.sockets.unacknowledged.length,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

describe.each(Object.entries(doubles))('%s, when another gateway may run the home', (name, open) => {
  let double: Double;
  let manager: ChannelManager;
  let picture: Media;
  let folder: Awaited<ReturnType<typeof tempFolder>>;
  const permit = new ChangingPermit();
  const strangers: string[] = [];
  /** What came from the platform while it is looked at. */
  let came = Promise.withResolvers<void>();
  let letIn: Promise<void> = Promise.resolve();

  const channel = (): Channel => {
    const found = manager.channel(name);
    if (found === undefined) throw new Error('the channel is not loaded');
    return found;
  };
  /** Begins while it is permitted; the SDK's own waiting comes after. */
  const lateBy = async (call: () => Promise<unknown>): Promise<unknown> => {
    permit.grant();
    const calling = call();
    permit.withdraw();
    return await calling.then(
      () => 'done',
      (error: unknown) => error,
    );
  };

  beforeAll(async () => {
    folder = await tempFolder();
    const path = join(folder.path, 'picture.png');
    await writeFile(path, Buffer.from('picture'));
    picture = { kind: 'image', path, name: 'picture.png', mediaType: 'image/png' };
    double = await open();
    const source = { ...channelSource(name, double.config, KINDS), permit };
    manager = new ChannelManager([source], {
      bus: { publishRead: async (drafts: readonly InboundDraft[]) => drafts.map(() => 'accepted' as const) },
      cursorsOf: () => new Map(),
      people: {
        pairedRole: () => undefined,
        pairedOwners: () => [],
        requestPairing: async ({ senderId }) => {
          strangers.push(senderId);
          came.resolve();
          await letIn;
        },
      },
      storage: storageHealth(systemClock),
      keep: async () => '',
      tellOwner: async () => {},
      clock: systemClock,
      random: steadyRandom,
      log: silentLog,
    });
    await manager.start();
    await waitFor(() => manager.running().includes(name));
  });
  afterAll(async () => {
    permit.grant();
    await manager.stop();
    await double[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  test.for(CALLS)('no %s leaves that was begun before, and it may be repeated', async ([what, call], { skip }) => {
    skip(LACKS[name]?.includes(what) === true, `there is none on ${name}`);
    const before = double.done();
    const outcome = await lateBy(async () => await call(channel(), double.chatId, picture));
    expect(outcome).toBeInstanceOf(Error);
    // Delivery does not look at how a typing sign failed.
    if (what !== 'typing sign') expect(outcome).toMatchObject({ name: 'SendError', failure: 'retryable' });
    expect(double.done()).toBe(before);
    permit.grant();
    await expect(channel().send(part(double.chatId), signal)).resolves.toBeDefined();
    expect(double.done()).toBeGreaterThan(before);
  });

  test('nothing is confirmed to the platform that this gateway did not keep', async ({ skip }) => {
    skip(name === 'discord', 'Discord waits for no confirmation: its history is read from where the home stands');
    permit.grant();
    const gate = Promise.withResolvers<void>();
    came = Promise.withResolvers();
    letIn = gate.promise;
    double.strangerWrites();
    await came.promise;
    permit.withdraw();
    gate.resolve();
    const before = double.kept();
    permit.tell();
    await waitFor(() => !double.isConnected());
    expect([before, double.kept()]).toEqual([1, 1]);
    letIn = Promise.resolve();
    came = Promise.withResolvers();
    permit.grant();
    // It is brought again.
    await came.promise;
    await waitFor(() => double.kept() === 0);
  });

  test('it is not connected and takes no messages, and is again as soon as that is certain', async () => {
    permit.grant();
    await waitFor(() => double.isConnected());
    permit.withdraw();
    expect(manager.outlet(name)).toBe('waiting');
    permit.tell();
    await waitFor(() => manager.health()[name]?.state === 'reconnecting');
    await waitFor(() => !double.isConnected());
    expect(manager.health()[name]?.detail).toContain('not certain that this gateway still runs the home');
    permit.grant();
    await waitFor(() => double.isConnected() && manager.running().includes(name));
    await expect(channel().send(part(double.chatId), signal)).resolves.toBeDefined();
  });
});

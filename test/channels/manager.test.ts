import { KINDS } from '../support/extensions.ts';
import { describe, expect, test } from 'vitest';
import { ChannelError, type Channel } from '../../src/core/channels/channel.ts';
import { ChannelManager } from '../../src/core/channels/manager.ts';
import { channelSource } from '../../src/core/channels/registry.ts';
import type { ChannelSource } from '../../src/core/channels/supervised-channel.ts';
import { steadyRandom } from '../support/delivery-world.ts';
import { storageHealth } from '../support/healthy-storage.ts';
import { recordingLog } from '../support/recording-log.ts';
import { ScriptedChannel } from '../support/scripted-channel.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

function setup(...channels: readonly (ScriptedChannel | ChannelSource)[]) {
  const clock = new VirtualClock();
  const log = recordingLog();
  const sources = channels.map((channel) =>
    channel instanceof ScriptedChannel
      ? { name: channel.name, kind: channel.kind, open: async (): Promise<Channel> => channel }
      : channel,
  );
  const bus = { publishRead: async () => ['accepted' as const] };
  const pairedRole = (_: string, id: string) => (['owner', 'trusted', 'guest'] as const).find((role) => role === id);
  const people = { pairedRole, pairedOwners: () => [], requestPairing: async () => {} };
  const manager = new ChannelManager(sources, {
    bus,
    people,
    cursorsOf: () => new Map(),
    storage: storageHealth(clock),
    keep: async (name) => name,
    tellOwner: async () => {},
    clock,
    random: steadyRandom,
    log,
  });
  return { clock, log, manager };
}

const never = (): Promise<void> => new Promise(() => {});
const failing =
  (message: string, retry = true) =>
  (): Promise<void> =>
    Promise.reject(new ChannelError(message, { retry }));

describe('starting', () => {
  test('all channels start side by side, so one that hangs keeps none waiting', async () => {
    const [slow, quick] = [new ScriptedChannel('slow'), new ScriptedChannel('quick')];
    slow.starts.push(never);
    const { manager } = setup(slow, quick);
    void manager.start();
    await settle();
    expect(manager.outlet('slow')).toBe('waiting');
    expect(manager.outlet('quick')).toBe(quick);
    await manager.stop();
  });

  test('a start that takes longer than 30 s is given up and tried again', async () => {
    const slow = new ScriptedChannel('slow');
    slow.starts.push(never);
    const { manager, clock } = setup(slow);
    const started = manager.start();
    await clock.advance(30_000);
    await started;
    expect(manager.health()['slow']).toMatchObject({ state: 'reconnecting', kind: 'scripted' });
    await clock.advance(1_000);
    expect(manager.outlet('slow')).toBe(slow);
    await manager.stop();
  });

  test('a start that ends after it was given up is disposed', async () => {
    const slow = new ScriptedChannel('slow');
    const gate = Promise.withResolvers<void>();
    slow.starts.push(() => gate.promise);
    const { manager, clock } = setup(slow);
    void manager.start();
    await clock.advance(30_000);
    gate.resolve();
    await settle();
    expect(slow.disposed).toBe(1);
    await manager.stop();
  });

  test('starting resolves when each channel runs, failed, or waits for another try', async () => {
    const [good, bad, flaky] = [new ScriptedChannel('good'), new ScriptedChannel('bad'), new ScriptedChannel('flaky')];
    bad.starts.push(failing('the token is wrong', false));
    flaky.starts.push(failing('no network'));
    const { manager } = setup(good, bad, flaky);
    await manager.start();
    expect(manager.health()).toEqual({
      good: { kind: 'scripted', state: 'running' },
      bad: { kind: 'scripted', state: 'failed', detail: 'the token is wrong' },
      flaky: { kind: 'scripted', state: 'reconnecting', detail: 'no network' },
    });
    await manager.stop();
  });
});

test('a channel that asks only whether somebody is paired takes no guest for a trusted person', async () => {
  const channel = new ScriptedChannel('letters');
  const { manager } = setup(channel);
  await manager.start();
  const ids = ['owner', 'trusted', 'guest', 'nobody'];
  expect(ids.filter((id) => channel.contexts[0]?.isPaired(id))).toEqual(['owner', 'trusted']);
  expect(channel.contexts[0]?.pairedRole('guest')).toBe('guest');
  await manager.stop();
});

describe('supervision', () => {
  test('a channel that cannot start is tried again after 1, 2, 4, … seconds up to 5 minutes', async () => {
    const channel = new ScriptedChannel();
    channel.starts.push(...Array.from({ length: 11 }, () => failing('no network')));
    const { manager, clock, log } = setup(channel);
    await manager.start();
    await clock.advance(3_600_000);
    const waits = log.lines
      .filter(({ level }) => level === 'warn')
      .map(({ fields }) => Number(fields['waitMs']) / 1_000);
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    expect(manager.outlet('test')).toBe(channel);
    await manager.stop();
  });

  test('a channel whose trouble only a person can end is not tried again', async () => {
    const channel = new ScriptedChannel();
    channel.starts.push(failing('the token is wrong', false));
    const { manager, clock } = setup(channel);
    await manager.start();
    await clock.advance(3_600_000);
    expect(channel.contexts).toHaveLength(1);
    expect(manager.outlet('test')).toBe('waiting');
    await manager.stop();
  });

  test('a running channel that reports a failure is disposed, started again and told of', async () => {
    const channel = new ScriptedChannel();
    const { manager, clock } = setup(channel);
    const reachable: string[] = [];
    manager.onReachable((name) => reachable.push(name));
    await manager.start();
    channel.contexts[0]?.fail(new ChannelError('the socket is gone', { retry: true }));
    await settle();
    expect(channel.disposed).toBe(1);
    expect(manager.health()['test']).toMatchObject({ state: 'reconnecting', detail: 'the socket is gone' });
    await clock.advance(1_000);
    expect(reachable).toEqual(['test', 'test']);
    await manager.stop();
  });

  test('a report of a life that is over does not end the next one', async () => {
    const channel = new ScriptedChannel();
    const { manager, clock } = setup(channel);
    await manager.start();
    const [first] = channel.contexts;
    first?.fail(new ChannelError('gone', { retry: true }));
    await clock.advance(1_000);
    first?.fail(new ChannelError('gone once more', { retry: false }));
    await settle();
    expect(manager.outlet('test')).toBe(channel);
    await manager.stop();
  });

  test('revoked credentials stop the channel; they are told of once and tried again seldom', async () => {
    const channel = new ScriptedChannel();
    const { manager, clock, log } = setup(channel);
    await manager.start();
    manager.revoked('test', 'the token was revoked');
    await clock.advance(599_000);
    expect(manager.health()['test']).toMatchObject({ state: 'failed', detail: 'the token was revoked' });
    expect(channel.disposed).toBe(1);
    await clock.advance(1_000);
    expect(manager.outlet('test')).toBe(channel);
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    await manager.stop();
  });

  test('a channel that hears nothing of its platform is started again, one that hears something is not', async () => {
    const channel = new ScriptedChannel();
    const { manager, clock } = setup(channel);
    await manager.start();
    const hear = (): void => {
      channel.heard = { lastInboundAt: clock.now(), quietMs: 100_000 };
    };
    for (let minute = 0; minute < 10; minute += 1) {
      hear();
      await clock.advance(60_000);
    }
    expect(channel.contexts).toHaveLength(1);
    await clock.advance(61_000);
    await settle();
    expect(channel.disposed).toBe(1);
    hear();
    await clock.advance(2_000);
    expect(channel.contexts).toHaveLength(2);
    await manager.stop();
  });

  test('a silent channel is started again in time although the clock was put back by six hours', async () => {
    const channel = new ScriptedChannel();
    const { manager, clock } = setup(channel);
    await manager.start();
    channel.heard = { lastInboundAt: clock.now(), quietMs: 100_000 };
    await clock.advance(60_000);
    clock.jump(-6 * 3_600_000);
    await clock.advance(91_000);
    await settle();
    expect(channel.disposed).toBe(1);
    await manager.stop();
  });

  test('a channel that ran steadily begins its backoff anew', async () => {
    const channel = new ScriptedChannel();
    channel.starts.push(failing('no'), failing('no'), failing('no'));
    const { manager, clock, log } = setup(channel);
    await manager.start();
    await clock.advance(7_000);
    await clock.advance(120_000);
    channel.contexts.at(-1)?.fail(new ChannelError('cut', { retry: true }));
    await settle();
    expect(log.lines.at(-1)?.fields).toMatchObject({ reason: 'cut', waitMs: 1_000 });
    await manager.stop();
  });
});

describe('stopping', () => {
  test('every channel is disposed', async () => {
    const channels = [new ScriptedChannel('a'), new ScriptedChannel('b')];
    const { manager } = setup(...channels);
    await manager.start();
    await manager.stop();
    expect(channels.map(({ disposed }) => disposed)).toEqual([1, 1]);
    expect(manager.health()['a']?.state).toBe('stopped');
  });

  test('a channel that does not let go holds the stop up for less than 5 s', async () => {
    const channel = new ScriptedChannel();
    channel.start = async () => ({ [Symbol.asyncDispose]: never });
    const { manager, clock } = setup(channel);
    await manager.start();
    const stopped = manager.stop();
    await clock.advance(5_000);
    await stopped;
  });

  test('a channel that waits for another try stops at once', async () => {
    const channel = new ScriptedChannel();
    channel.starts.push(failing('no network'));
    const { manager, clock } = setup(channel);
    await manager.start();
    await manager.stop();
    expect(clock.waiting).toBe(0);
  });
});

describe('rendering', () => {
  test('parts are rendered by the channel, and not at all when there is none', async () => {
    const { manager } = setup(new ScriptedChannel());
    const message = {
      id: '1',
      channel: 'test',
      chatId: '1',
      kind: 'answer',
      text: 'a|b',
      media: [],
      metadata: {},
    } as const;
    expect(manager.renderParts(message)).toBeUndefined();
    await manager.start();
    expect(manager.renderParts(message)).toEqual(['a', 'b']);
    expect(manager.renderParts({ ...message, channel: 'other' })).toBeUndefined();
    expect(manager.outlet('other')).toBe('unknown');
    await manager.stop();
  });
});

describe('the table of kinds', () => {
  test('an unknown kind is a failed channel that names the nearest known one', async () => {
    const { manager } = setup(channelSource('tele', { kind: 'telegran', token: '1:x' }, KINDS));
    await manager.start();
    expect(manager.health()['tele']).toEqual({
      kind: 'telegran',
      state: 'failed',
      detail:
        'channels.tele.kind: "telegran" is not a kind of channel, did you mean "telegram"? (known: telegram, discord, slack).',
    });
  });

  test.each([
    [{}, 'channels.telegram.token: expected the bot token that @BotFather gave you.'],
    [
      { token: 'secret with spaces' },
      'channels.telegram.token: expected a bot token like 123456789:AAE… from @BotFather.',
    ],
    [{ token: '1:x', apiRoot: 'ftp://x' }, 'channels.telegram.apiRoot: expected an http(s) address.'],
  ])(
    'options that cannot work (%j) fail with the key and what was expected, never the value',
    async (config, detail) => {
      const { manager } = setup(channelSource('telegram', config, KINDS));
      await manager.start();
      expect(manager.health()['telegram']).toMatchObject({ state: 'failed', detail });
    },
  );

  test('the kind is the name of the entry unless it says another', async () => {
    expect(channelSource('telegram', {}, KINDS).kind).toBe('telegram');
    const channel = await channelSource('work', { kind: 'telegram', token: '1:x' }, KINDS).open();
    expect([channel.name, channel.kind]).toEqual(['work', 'telegram']);
  });
});

describe('a channel that is replaced', () => {
  const replaced = async () => {
    const [old, next] = [new ScriptedChannel('chat'), new ScriptedChannel('chat')];
    const world = setup(old);
    await world.manager.start();
    const sent = Promise.withResolvers<void>();
    void world.manager.sending('chat', sent.promise);
    const done = world.manager.replace('chat', { name: 'chat', kind: next.kind, open: async () => next });
    await settle();
    return { ...world, old, next, sent, done };
  };

  test('sends to the end what it is sending, and is given nothing new meanwhile', async () => {
    const { manager, old, next, sent, done } = await replaced();
    expect(manager.outlet('chat')).toBe('waiting');
    expect(old.disposed).toBe(0);
    sent.resolve();
    await done;
    expect(old.disposed).toBe(1);
    expect(manager.outlet('chat')).toBe(next);
    await manager.stop();
  });

  test('is stopped after 10 s all the same, which is logged', async () => {
    const { manager, clock, log, old, done } = await replaced();
    await clock.advance(10_000);
    await done;
    expect(old.disposed).toBe(1);
    expect(JSON.stringify(log.lines)).toContain('channels: channel stopped while it was sending');
    await manager.stop();
  });
});

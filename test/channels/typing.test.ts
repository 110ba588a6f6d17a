import { expect, test } from 'vitest';
import type { OutboundEvent } from '../../src/core/bus/messages.ts';
import type { App } from '../../src/core/app.ts';
import { startTyping } from '../../src/core/channels/delivery/typing.ts';
import { noUsage } from '../../src/core/util/token-usage.ts';
import { appWith } from '../support/app-with.ts';
import { TestOutlets } from '../support/delivery-world.ts';
import { ScriptedChannel } from '../support/scripted-channel.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

type Kind = 'typing' | 'text' | 'turn-end';

function setup() {
  const clock = new VirtualClock();
  const outlets = new TestOutlets();
  const channel = new ScriptedChannel();
  outlets.channels.set('test', channel);
  const listeners = new Set<(event: OutboundEvent) => void>();
  const listen = (listener: (event: OutboundEvent) => void): Disposable => {
    listeners.add(listener);
    return { [Symbol.dispose]: () => listeners.delete(listener) };
  };
  const typing = startTyping(
    appWith({
      bus: { listen } as App['bus'],
      channels: { manager: outlets } as unknown as App['channels'],
      clock,
    }),
  );
  let sequence = 0;
  const hear = (type: Kind, turnId = 't1', chatId = 'chat'): void => {
    sequence += 1;
    const base = { channel: 'test', chatId, sessionKey: `test:${chatId}`, turnId, sequence };
    const result = {
      outcome: 'answered',
      text: '',
      isError: false,
      errorKind: null,
      model: null,
      usage: noUsage,
      costUsd: null,
      durationMs: 1,
    } as const;
    const events: Record<Kind, OutboundEvent> = {
      typing: { ...base, type: 'typing' },
      text: { ...base, type: 'text', text: 'x' },
      'turn-end': { ...base, type: 'turn-end', result, answers: [] },
    };
    for (const listener of listeners) listener(events[type]);
  };
  return { clock, outlets, channel, typing, hear };
}

test('typing is shown after a moment and again every four seconds, although showing it fails', async () => {
  const { clock, channel, hear } = setup();
  hear('typing');
  expect(channel.typed).toEqual([]);
  await clock.advance(200);
  expect(channel.typed).toHaveLength(1);
  await clock.advance(12_000);
  expect(channel.typed).toHaveLength(4);
});

test('a turn that is over in a moment shows none', async () => {
  const { clock, channel, hear } = setup();
  hear('typing');
  await clock.advance(100);
  hear('turn-end');
  await clock.advance(60_000);
  expect(channel.typed).toEqual([]);
});

test('typing ends with the turn, and a late event of that turn does not show it again', async () => {
  const { clock, channel, hear } = setup();
  hear('typing');
  await clock.advance(200);
  hear('turn-end');
  hear('text');
  await clock.advance(60_000);
  expect(channel.typed).toHaveLength(1);
  expect(clock.waiting).toBe(0);
});

test('a chat with two turns types until both have ended', async () => {
  const { clock, channel, hear } = setup();
  hear('typing', 't1');
  hear('typing', 't2');
  hear('turn-end', 't1');
  await clock.advance(4_200);
  expect(channel.typed).toHaveLength(2);
  hear('turn-end', 't2');
  await clock.advance(60_000);
  expect(channel.typed).toHaveLength(2);
});

test('a turn that says nothing for five minutes types no more, and types again when it goes on', async () => {
  const { clock, channel, hear } = setup();
  hear('typing');
  await clock.advance(600_000);
  expect(channel.typed).toHaveLength(75);
  expect(clock.waiting).toBe(0);
  hear('text');
  await clock.advance(200);
  expect(channel.typed).toHaveLength(76);
});

test('each event of the turn keeps the lease alive', async () => {
  const { clock, channel, hear } = setup();
  for (let minute = 0; minute < 10; minute += 1) {
    hear('text');
    await clock.advance(60_000);
  }
  expect(channel.typed).toHaveLength(150);
});

test('a channel that is down is left alone until it runs', async () => {
  const { clock, outlets, channel, hear } = setup();
  outlets.down.add('test');
  hear('typing');
  await clock.advance(8_200);
  expect(channel.typed).toEqual([]);
  outlets.down.clear();
  await clock.advance(4_000);
  expect(channel.typed).toEqual(['chat']);
});

test('disposing ends every lease', async () => {
  const { clock, channel, typing, hear } = setup();
  hear('typing', 't1', 'a');
  hear('typing', 't2', 'b');
  await clock.advance(200);
  typing[Symbol.dispose]();
  hear('typing', 't3', 'c');
  await clock.advance(60_000);
  expect(channel.typed).toEqual(['a', 'b']);
  expect(clock.waiting).toBe(0);
});

import { expect, test } from 'vitest';
import { TerminalChannel, type TerminalMessage } from '../../src/core/channels/terminal.ts';
import { DeliveryWorld } from '../support/delivery-world.ts';
import { settle } from '../support/virtual-clock.ts';

async function open(world: DeliveryWorld): Promise<TerminalChannel> {
  const terminal = new TerminalChannel();
  world.outlets.channels.set('terminal', terminal);
  await terminal.start({
    accept: async () => [],
    write: async () => {},
    reacted: async () => {},
    tellOwner: async () => {},
    cursors: () => new Map(),
    pairedRole: () => undefined,
    isPaired: () => false,
    pairedOwners: () => [],
    heardUntil: () => undefined,
    requestPairing: async () => {},
    passOver: () => {},
    commands: [],
    wake: (chatId) => world.outlets.tell('terminal', chatId),
    fail: () => {},
    clock: world.clock,
    log: world.log,
  });
  world.delivery.start();
  return terminal;
}

test('everybody attached to a chat gets its messages as they were written', async () => {
  await using world = await DeliveryWorld.open();
  const terminal = await open(world);
  const heard: TerminalMessage[] = [];
  using _one = terminal.attach('main', (message) => heard.push(message));
  using _two = terminal.attach('main', (message) => heard.push(message));
  using _other = terminal.attach('other', () => expect.unreachable());
  await world.say('**hi**\n\nthere', { channel: 'terminal', chatId: 'main', turnId: 't1' });
  expect(heard).toEqual([heard[0], heard[0]]);
  expect(heard[0]).toMatchObject({ id: 'm1', text: '**hi**\n\nthere', kind: 'answer', turnId: 't1' });
});

test('messages wait while no terminal is attached and come at once when somebody is', async () => {
  await using world = await DeliveryWorld.open();
  const terminal = await open(world);
  const heard: string[] = [];
  await world.say('one', { channel: 'terminal', chatId: 'main' });
  await world.say('two', { channel: 'terminal', chatId: 'main' });
  await world.clock.advance(60_000);
  using _ = terminal.attach('main', ({ text }) => heard.push(text));
  await settle();
  expect(heard).toEqual(['one', 'two']);
});

test('messages wait across a restart and come when somebody attaches', async () => {
  await using world = await DeliveryWorld.open();
  await open(world);
  await world.say('hello', { channel: 'terminal', chatId: 'main' });
  await world.restart();
  const terminal = await open(world);
  await settle();
  const heard: string[] = [];
  using _ = terminal.attach('main', ({ text }) => heard.push(text));
  await settle();
  expect(heard).toEqual(['hello']);
});

test('somebody attached before the channel runs is reached when it does', async () => {
  await using world = await DeliveryWorld.open();
  await open(world);
  await world.say('hello', { channel: 'terminal', chatId: 'main' });
  const late = new TerminalChannel();
  const heard: string[] = [];
  using _ = late.attach('main', ({ text }) => heard.push(text));
  world.outlets.channels.set('terminal', late);
  await late.start({
    accept: async () => [],
    write: async () => {},
    reacted: async () => {},
    tellOwner: async () => {},
    cursors: () => new Map(),
    pairedRole: () => undefined,
    isPaired: () => false,
    pairedOwners: () => [],
    heardUntil: () => undefined,
    requestPairing: async () => {},
    passOver: () => {},
    commands: [],
    wake: (chatId) => world.outlets.tell('terminal', chatId),
    fail: () => {},
    clock: world.clock,
    log: world.log,
  });
  await settle();
  expect(heard).toEqual(['hello']);
});

test('who has left, or cannot take a message, has not taken it', async () => {
  await using world = await DeliveryWorld.open();
  const terminal = await open(world);
  terminal.attach('main', () => expect.unreachable())[Symbol.dispose]();
  using _ = terminal.attach('main', () => {
    throw new Error('broken pipe');
  });
  const id = await world.say('hello', { channel: 'terminal', chatId: 'main' });
  expect(world.state(id)).toBe('pending');
});

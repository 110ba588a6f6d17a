import { describe, expect, test } from 'vitest';
import type { InboundDraft } from '../../src/core/bus/messages.ts';
import { SendError, type Channel, type ChannelContext } from '../../src/core/channels/channel.ts';
import type { Received } from '../../src/core/channels/inbound/writer.ts';
import { KeptChannel } from '../../src/core/channels/kept.ts';
import { Guests } from '../../src/core/channels/shared/guests.ts';
import { ownChats, type Line } from '../../src/core/channels/shared/own-chats.ts';
import { routedContext } from '../../src/core/channels/shared/routed-context.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { inboundDraft } from '../support/inbound.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const NEVER = new AbortController().signal;

interface Home {
  readonly context: ChannelContext;
  /** `chat: text`, and `place=id` for a cursor, in the order in which they were written. */
  readonly written: string[];
  /** Instead of writing; a test sets it. */
  hold: ((signal: AbortSignal) => Promise<void>) | undefined;
}

function home(cursors: Readonly<Record<string, string>> = {}): Home {
  const clock = new VirtualClock();
  const written: string[] = [];
  const note = (drafts: readonly InboundDraft[]): void => {
    written.push(...drafts.map(({ chatId, text }) => `${chatId}: ${text}`));
  };
  const own: Home = {
    written,
    hold: undefined,
    context: {
      accept: async (drafts, moved = []) => {
        note(drafts);
        written.push(...moved.map(({ place, last }) => `${place}=${last}`));
        return drafts.map(() => 'accepted');
      },
      write: async (received, { cursors: moved = [], signal }) => {
        await own.hold?.(signal);
        note(received.flatMap((one) => ('draft' in one ? [one.draft] : [])));
        written.push(...received.flatMap((one) => ('failure' in one ? [`set aside: ${one.chatId}`] : [])));
        written.push(...moved.map(({ place, last }) => `${place}=${last}`));
      },
      reacted: async (reactions) => void written.push(...reactions.map(({ emoji }) => emoji)),
      tellOwner: async () => {},
      cursors: () => new Map(Object.entries(cursors)),
      pairedRole: (id) => (id === 'known' ? 'trusted' : undefined),
      isPaired: (id) => id === 'known',
      pairedOwners: () => [],
      heardUntil: () => undefined,
      requestPairing: async ({ chatId }) => void written.push(`pairing in ${chatId}`),
      passOver: ({ chatId }) => void written.push(`passed over in ${chatId}`),
      wake: () => {},
      fail: () => {},
      commands: [],
      clock,
      log: silentLog,
    },
  };
  return own;
}

/** The main assistant and `kim`, who has the chat K and what lies in it. */
function share(main = home(), kim = home()) {
  const clock = new VirtualClock();
  const guests = new Guests(clock);
  guests.setRoutes([{ assistant: 'kim', channel: 'chat', chatId: 'K' }]);
  guests.setState('kim', 'running');
  const refused: string[] = [];
  const refuse = (assistant: string, _: string, chatId: string): void => void refused.push(`${assistant} in ${chatId}`);
  const context = routedContext('chat', main.context, { guests, refuse });
  guests.attach('kim', 'chat', kim.context);
  context.cursors();
  return { main, kim, guests, context, refused, clock };
}

const said = (chatId: string, text: string): Received => ({
  raw: null,
  draft: inboundDraft({ channel: 'chat', chatId, text }),
});

describe('a connection that assistants share', () => {
  test('writes each message in the home of its chat, also one that could not be read', async () => {
    const { main, kim, context } = share();
    const unreadable: Received = { raw: {}, failure: new Error('odd'), chatId: 'K' };
    await context.write([said('M', 'one'), said('K', 'two'), unreadable, said('M', 'three')], { signal: NEVER });
    expect(main.written).toEqual(['M: one', 'M: three']);
    expect(kim.written).toEqual(['K: two', 'set aside: K']);
  });

  test('resolves when each home has its part, and rejects when one does not take it', async () => {
    const { main, kim, context } = share();
    const held = Promise.withResolvers<void>();
    kim.hold = () => held.promise;
    let isDone = false;
    const written = context.write([said('K', 'one'), said('M', 'two')], { signal: NEVER }).then(() => (isDone = true));
    await new Promise(setImmediate);
    expect([main.written, isDone]).toEqual([['M: two'], false]);
    held.resolve();
    await written;
    kim.hold = () => Promise.reject(new Error('the disk is full'));
    await expect(context.write([said('K', 'three')], { signal: NEVER })).rejects.toThrow('the disk is full');
  });

  test('keeps a cursor in the home of its messages, also of a place that no route names, as a thread', async () => {
    const { main, kim, context } = share();
    await context.write([said('K', 'in a thread')], { signal: NEVER, cursors: [{ place: 'thread', last: '7' }] });
    await context.accept(
      [],
      [
        { place: 'thread', last: '8' },
        { place: 'M', last: '3' },
        { place: 'K', last: '9' },
      ],
    );
    expect(kim.written).toEqual(['K: in a thread', 'thread=7', 'thread=8', 'K=9']);
    expect(main.written).toEqual(['M=3']);
  });

  test('keeps no cursor for one that was not there when it began, or that it refused for: that would hide what was missed', async () => {
    const { kim, context, guests } = share();
    const moved = { signal: NEVER, cursors: [{ place: 'K', last: '7' }] };
    guests.setState('kim', 'failed');
    await context.write([said('K', 'refused')], moved);
    guests.setState('kim', 'running');
    guests.attach('kim', 'chat', kim.context);
    await context.write([said('K', 'taken')], moved);
    await context.accept([], [{ place: 'K', last: '8' }]);
    expect(kim.written).toEqual(['K: taken']);
  });

  test('begins with the newest cursor of each place, in whichever home it lies', () => {
    const { context } = share(home({ a: '9', b: '100', main: '1' }), home({ a: '10', b: '99', kim: '2' }));
    expect(Object.fromEntries(context.cursors())).toEqual({ a: '10', b: '100', main: '1', kim: '2' });
  });

  test('knows in each chat the people of its assistant alone', async () => {
    const { main, kim, context, guests } = share();
    expect([context.pairedRole('known', 'K'), context.isPaired('known', 'K')]).toEqual(['trusted', true]);
    await context.requestPairing({ senderId: '1', chatId: 'K' });
    context.passOver({ account: '', chatId: 'K', externalId: '', reason: '' });
    expect(kim.written).toEqual(['pairing in K', 'passed over in K']);
    expect(main.written).toEqual([]);
    guests.setState('kim', 'failed');
    expect([context.pairedRole('known', 'K'), context.pairedRole('known', 'M')]).toEqual([undefined, 'trusted']);
  });

  test('refuses for an assistant that does not run, and takes the rest', async () => {
    const { main, kim, context, refused, guests } = share();
    guests.setState('kim', 'failed');
    await context.write([said('K', 'one'), said('M', 'two')], { signal: NEVER, cursors: [{ place: 'K', last: '1' }] });
    await context.requestPairing({ senderId: '1', chatId: 'K' });
    await expect(context.accept([inboundDraft({ chatId: 'K' })])).rejects.toThrow('does not run');
    expect(refused).toEqual(['kim in K', 'kim in K', 'kim in K']);
    expect([main.written, kim.written]).toEqual([['M: two'], []]);
  });

  test('an assistant that restarts in the middle of a write: its successor gets the message', async () => {
    const { kim, context, guests } = share();
    kim.hold = (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const written = context.write([said('K', 'one')], { signal: NEVER });
    await new Promise(setImmediate);
    guests.setState('kim', 'away');
    const next = home();
    guests.setState('kim', 'starting');
    guests.attach('kim', 'chat', next.context);
    await written;
    expect([kim.written, next.written]).toEqual([[], ['K: one']]);
  });

  test('waits 30 seconds for one that is starting, and then not again until it moves on', async () => {
    const { context, guests, refused, clock } = share();
    guests.setState('kim', 'away');
    guests.setState('kim', 'starting');
    const first = context.write([said('K', 'one')], { signal: NEVER });
    const reads = context.settled?.(NEVER);
    await clock.advance(29_000);
    expect(refused).toEqual([]);
    await clock.advance(2_000);
    await Promise.all([first, reads]);
    await context.write([said('K', 'two')], { signal: NEVER });
    await context.settled?.(NEVER);
    expect(refused).toEqual(['kim in K', 'kim in K']);
    const next = home();
    guests.attach('kim', 'chat', next.context);
    await context.write([said('K', 'three')], { signal: NEVER });
    expect(next.written).toEqual(['K: three']);
  });
});

describe('the channel of one of several assistants', () => {
  const part = { messageId: 'm', kind: 'answer', chatId: 'K', text: 'hi', media: [], nonce: 'n' } as const;
  const open = (line: Partial<Line> = {}) => {
    const calls: string[] = [];
    const real: Channel = Object.assign(new KeptChannel('chat'), {
      send: async ({ chatId }: { readonly chatId: string }) => {
        calls.push(`send ${chatId}`);
        return { platformId: '1' };
      },
      edit: async ({ chatId }: { readonly chatId: string }) => void calls.push(`edit ${chatId}`),
      react: async ({ chatId }: { readonly chatId: string }) => void calls.push(`react ${chatId}`),
      typing: async ({ chatId }: { readonly chatId: string }) => void calls.push(`typing ${chatId}`),
      draft: async ({ chatId }: { readonly chatId: string }) => calls.push(`draft ${chatId}`) > 0,
    });
    const channel = ownChats(real, {
      owns: (chatId) => chatId === 'K',
      began: (turnId) => turnId === 'begun here',
      connected: () => real,
      start: (context, signal) => real.start(context, signal),
      health: () => real.health(),
      ...line,
    });
    return { channel, calls };
  };

  test('sends, edits, drafts, reacts and types in its own chats only', async () => {
    const { channel, calls } = open();
    for (const chatId of ['K', 'M']) {
      const to = { ...part, chatId };
      const tries = [
        () => channel.send(to, NEVER),
        () => channel.edit?.({ ...to, platformId: '1' }, NEVER),
        () => channel.draft?.(to, NEVER),
        () => channel.react?.({ chatId, platformId: '1' }, { add: '👍', remove: [] }, NEVER),
      ];
      for (const tried of tries) {
        if (chatId === 'K') await tried();
        else
          await expect(tried()).rejects.toMatchObject({
            failure: 'permanent',
            message: expect.stringContaining('belongs to another assistant'),
          });
      }
      await channel.typing?.({ chatId }, NEVER);
    }
    expect(calls).toEqual(['send K', 'edit K', 'draft K', 'react K', 'typing K']);
  });

  test('ends in a chat what a message of that chat began', async () => {
    const { channel, calls } = open();
    await channel.send({ ...part, chatId: 'M', turnId: 'begun here' }, NEVER);
    await expect(channel.send({ ...part, chatId: 'M', turnId: 'another' }, NEVER)).rejects.toThrow();
    expect(calls).toEqual(['send M']);
  });

  test('a message waits while the channel is not connected, and a refused token is told to whom runs it', async () => {
    const missed: string[] = [];
    const away = open({ connected: () => undefined, missed: (chatId) => void missed.push(chatId) });
    await expect(away.channel.send(part, NEVER)).rejects.toMatchObject({ failure: 'retryable' });
    expect(missed).toEqual(['K']);
    const revoked: string[] = [];
    const refusing = new KeptChannel('chat');
    const real: Channel = Object.assign(refusing, {
      send: () => Promise.reject(new SendError('revoked', 'bad token')),
    });
    const { channel } = open({ connected: () => real, revoked: (reason) => void revoked.push(reason) });
    await expect(channel.send(part, NEVER)).rejects.toMatchObject({ failure: 'retryable' });
    expect(revoked).toEqual(['bad token']);
  });
});

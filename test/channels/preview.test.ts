import { expect, test } from 'vitest';
import type { OutboundEvent } from '../../src/core/bus/messages.ts';
import { SendError, type Channel, type OutgoingPart } from '../../src/core/channels/channel.ts';
import { Previews } from '../../src/core/channels/delivery/preview.ts';
import type { App } from '../../src/core/app.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { appWith } from '../support/app-with.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

interface Stage {
  readonly clock: VirtualClock;
  readonly previews: Previews;
  /** What the platform was shown as a draft, with the time. */
  readonly drafts: { readonly at: number; readonly text: string }[];
  readonly streams: (text: string) => void;
  readonly hears: (event: Partial<OutboundEvent>) => void;
}

/** Previews on a platform that has drafts; `draft` may fail. */
function stage(draft: (part: OutgoingPart) => boolean = () => true): Stage {
  const clock = new VirtualClock();
  const drafts: { at: number; text: string }[] = [];
  let hear: (event: OutboundEvent) => void = () => {};
  const channel: Partial<Channel> = {
    render: (markdown) => [markdown],
    edit: async () => {},
    draft: async (part) => {
      drafts.push({ at: clock.now(), text: part.text });
      return draft(part);
    },
  };
  const app = appWith({
    bus: {
      listen: (listener: typeof hear) => {
        hear = listener;
        return { [Symbol.dispose]: () => {} };
      },
    } as unknown as App['bus'],
    journal: { previews: { platformId: () => undefined, isOvertaken: () => false } } as unknown as App['journal'],
    channels: { manager: { outlet: () => channel } } as unknown as App['channels'],
    config: { channels: {} } as App['config'],
    clock,
    log: silentLog,
  });
  const previews = new Previews(app);
  const place = { turnId: 't1', sessionKey: 's', channel: 'telegram', chatId: '42' };
  const hears = (event: Partial<OutboundEvent>): void => hear({ ...place, ...event } as OutboundEvent);
  return { clock, previews, drafts, streams: (text) => hears({ type: 'text', text }), hears };
}

test('a draft of which nothing new comes is shown anew every 20 s, until its turn is over', async () => {
  const { clock, previews, drafts, streams: says } = stage();
  says('It begins');
  await clock.advance(65_000);
  const [first = { at: 0, text: '' }] = drafts;
  const shown = drafts.map(({ at, text }) => [Math.round((at - first.at) / 10_000), text]);
  expect(shown).toEqual([0, 2, 4, 6].map((tens) => [tens, 'It begins']));
  await previews.settle('t1', { isStopped: false });
  await clock.advance(120_000);
  expect(drafts).toHaveLength(4);
});

test('a draft that fails is tried again with the next words, not before the platform likes', async () => {
  let fails = true;
  const {
    clock,
    drafts,
    streams: says,
  } = stage(() => {
    if (fails) throw new SendError('retryable', 'too many', { retryAfterMs: 30_000 });
    return true;
  });
  says('It begins');
  await clock.advance(2_000);
  fails = false;
  says('It begins, and goes on');
  await clock.advance(20_000);
  expect(drafts).toHaveLength(1);
  await clock.advance(20_000);
  expect(drafts.map(({ text }) => text)).toContain('It begins, and goes on');
});

const LOADING = { type: 'status', text: 'local is loading', isLong: true } as const;

test('what keeps a model from answering is shown after 15 s, once, until its text comes', async () => {
  const { clock, drafts, streams: says, hears } = stage();
  for (let n = 0; n < 6; n += 1) {
    hears(LOADING);
    await clock.advance(3_000);
  }
  expect(drafts).toEqual([{ at: drafts[0]?.at, text: '_⋯ local is loading_' }]);
  says('Here');
  await clock.advance(2_000);
  expect(drafts.slice(1).map(({ text }) => text)).toEqual(['Here']);
});

test('a short wait is not shown, nor a tool without a text, nor what takes no time', async () => {
  const { clock, drafts, streams: says, hears } = stage();
  hears({ type: 'status', text: 'reading a page' });
  hears(LOADING);
  await clock.advance(10_000);
  hears({ type: 'tool-start', title: 'a file' });
  await clock.advance(20_000);
  expect(drafts).toEqual([]);
  says('Here');
  await clock.advance(2_000);
  expect(drafts.map(({ text }) => text)).toEqual(['Here']);
});

test('a clock that is put back holds up no preview', async () => {
  const { clock, drafts, streams: says } = stage();
  says('It begins');
  await clock.advance(2_000);
  clock.jump(-3_600_000);
  const later = ['It begins, and', 'It begins, and goes', 'It begins, and goes on'];
  for (const text of later) {
    says(text);
    await clock.advance(5_000);
  }
  expect(drafts.map(({ text }) => text)).toEqual(['It begins', ...later]);
});

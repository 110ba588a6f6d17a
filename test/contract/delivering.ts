import { expect } from 'vitest';
import { unreadableMarkdown } from '../support/unreadable-markdown.ts';
import { waitFor } from '../support/wait.ts';
import { behaviour, type Behaviour } from './behaviour.ts';
import type { Stage } from './stage.ts';

const outboxOf = async (stage: Stage, chatId: string): Promise<readonly { state: string; reason: string | null }[]> =>
  (await stage.assistant.call('outboxList', {})).filter(({ chat }) => chat === chatId);

export const deliveryBehaviours: readonly Behaviour[] = [
  behaviour('waits as long as a busy platform says, and arrives once', ['network'], async (stage) => {
    const chat = await stage.chat();
    chat.bot.fault(chat.place, 'throttled');
    const began = performance.now();
    await chat.asks('hello');
    expect(performance.now() - began).toBeGreaterThan(950);
    expect(chat.texts).toEqual(['Heard: hello']);
  }),

  behaviour('arrives once when the connection breaks before it was taken', ['network'], async (stage) => {
    const chat = await stage.chat();
    chat.bot.fault(chat.place, 'lost-before');
    await chat.asks('hello');
    expect(chat.texts[0]).toMatch(/^(?:↻ )?Heard: hello$/u);
    await stage.settled();
    expect(chat.seen).toHaveLength(1);
  }),

  behaviour(
    'arrives once, or is marked the second time, when the connection breaks after it was taken',
    ['network'],
    async (stage) => {
      const chat = await stage.chat();
      chat.bot.fault(chat.place, 'lost-after');
      await chat.asks('hello');
      await waitFor(async () => (await outboxOf(stage, chat.place.chatId)).length === 0, { what: 'an empty outbox' });
      expect(chat.texts.filter((text) => text === 'Heard: hello')).toHaveLength(1);
      expect(chat.texts.filter((text) => text !== 'Heard: hello').every((text) => text === '↻ Heard: hello')).toBe(
        true,
      );
    },
  ),

  behaviour('survives errors of the platform', ['network'], async (stage) => {
    const chat = await stage.chat();
    chat.bot.fault(chat.place, 'server-error');
    await chat.asks('hello');
    await waitFor(async () => (await outboxOf(stage, chat.place.chatId)).length === 0, { what: 'an empty outbox' });
    expect(chat.texts.filter((text) => text === 'Heard: hello').length).toBeLessThanOrEqual(1);
    expect(chat.texts.length).toBe(1);
  }),

  behaviour('to a chat that refuses for good ends as a dead letter with the reason', ['network'], async (stage) => {
    const chat = await stage.chat();
    chat.bot.fault(chat.place, 'blocked');
    chat.sends('hello');
    await waitFor(async () => (await outboxOf(stage, chat.place.chatId))[0]?.state === 'dead', {
      what: 'a dead letter',
    });
    expect((await outboxOf(stage, chat.place.chatId))[0]?.reason).toBeTruthy();
    await chat.asks('again');
    await chat.sees((texts) => texts.includes('Heard: again'), 'the next answer');
    expect(chat.texts.at(-1)).toBe('Heard: again');
    // What was lost is told in front of it, or to the owner elsewhere.
    for (const text of chat.texts.slice(0, -1)) expect(text).toContain('did not reach you');
  }),

  behaviour('of a text that cannot be rendered shows it as it is, its markup unread', [], async (stage) => {
    const chat = await stage.chat();
    const text = 'poison: **not bold** & <b>not a tag</b> _x_ `y`\n- 1) # @everyone';
    chat.scripted(text);
    // Nothing else that is said meanwhile is touched.
    using _ = unreadableMarkdown('poison');
    await chat.asks('hello');
    const ink = (shown: string): string => shown.replaceAll(/[\s\u200b\u00a0]/gu, '');
    expect(ink(chat.texts[0] ?? '')).toBe(ink(text));
  }),

  behaviour('to a chat that hangs holds up no other', ['network'], async (stage) => {
    const chat = await stage.chat();
    chat.bot.fault(chat.place, 'hang');
    chat.sends('hello');
    await waitFor(() => chat.asked.length === 1);
    const other = await stage.chat();
    const began = performance.now();
    await other.asks('quick');
    expect(performance.now() - began).toBeLessThan(5_000);
  }),

  behaviour('keeps the order of a chat through errors', ['network'], async (stage) => {
    const chat = await stage.chat();
    chat.scripted({ calls: [{ name: 'message', arguments: { text: 'One.' } }] }, 'Two.');
    chat.bot.fault(chat.place, 'throttled');
    chat.sends('count');
    await chat.sees((texts) => texts.length === 2, 'both');
    expect(chat.texts).toEqual(['One.', 'Two.']);
  }),
];

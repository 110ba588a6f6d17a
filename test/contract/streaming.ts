import { expect } from 'vitest';
import { behaviour, type Behaviour } from './behaviour.ts';

const ANSWER = `It begins. ${'A sentence of the answer. '.repeat(12)}It ends.`.trim();
/** About five seconds, so that a busy machine has time to show it too. */
const slowly = (text: string): { text: string; chunkSize: number; eventDelayMs: number } => ({
  text,
  chunkSize: 10,
  eventDelayMs: 160,
});

export const streamingBehaviours: readonly Behaviour[] = [
  behaviour('is one message that grows, and is exact in the end', ['previews'], async (stage) => {
    const chat = await stage.chat();
    chat.scripted(slowly(ANSWER));
    chat.sends('tell me');
    await chat.sees((texts) => texts.includes(ANSWER), 'the whole answer');
    expect(chat.texts).toEqual([ANSWER]);
    const before = chat.seen[0]?.before ?? [];
    expect(before.length).toBeGreaterThanOrEqual(2);
    expect(before.length).toBeLessThanOrEqual(7);
    for (const text of before) expect(ANSWER.startsWith(text)).toBe(true);
  }),

  behaviour('is sent once where it comes at once', [], async (stage) => {
    const chat = await stage.chat();
    chat.scripted('Short.');
    const { before } = await chat.asks('tell me');
    expect(before).toEqual([]);
    expect(chat.texts).toEqual(['Short.']);
  }),

  behaviour('shows what a tool does in one line that goes away', ['previews'], async (stage) => {
    const chat = await stage.chat('owner');
    const slow = { name: 'list_dir', arguments: { path: '.' } };
    chat.scripted({ ...slowly(ANSWER.slice(0, 150)), calls: [slow] }, { text: 'Done with it.', delayMs: 2_500 });
    chat.sends('look around');
    await chat.sees((texts) => texts.includes('Done with it.'), 'the answer');
    expect(chat.texts).toEqual(['Done with it.']);
  }),

  behaviour('rolls over into more messages when it is long', ['previews', 'limit'], async (stage) => {
    const chat = await stage.chat();
    const long = 'A sentence of the answer that goes on. '.repeat(150).trim();
    chat.scripted({ text: long, chunkSize: 200, eventDelayMs: 80 });
    chat.sends('tell me all');
    await chat.sees((texts) => texts.join(' ') === long, 'all parts');
    expect(chat.seen[0]?.before.length).toBeGreaterThan(0);
  }),

  behaviour('is not shown where the channel says so', ['previews', 'instances'], async (stage) => {
    const person = stage.friend();
    const chat = stage.chatIn(stage.bot('open').direct(person), person, 'open');
    chat.scripted(slowly(ANSWER));
    chat.sends('tell me');
    await chat.sees((texts) => texts.includes(ANSWER), 'the whole answer');
    expect(chat.seen[0]?.before).toEqual([]);
  }),

  behaviour('that is stopped stays as far as it came', ['previews'], async (stage) => {
    const chat = await stage.chat();
    chat.scripted(slowly(ANSWER), 'Hello again.');
    chat.sends('tell me');
    await chat.sees((texts) => texts.length > 0, 'its beginning');
    chat.sends('/stop');
    await chat.sees((texts) => texts.length > 1, 'the reply to /stop');
    const [first = ''] = chat.texts;
    expect(ANSWER.startsWith(first)).toBe(true);
    expect(first).not.toBe(ANSWER);
  }),

  behaviour('goes on below what was said in between, and leaves its first part whole', ['previews'], async (stage) => {
    const chat = await stage.chat();
    const aside = { name: 'message', arguments: { text: 'By the way.' } };
    chat.scripted({ ...slowly(ANSWER.slice(0, 130)), calls: [aside] }, slowly(ANSWER));
    chat.sends('tell me');
    await chat.sees((texts) => texts.includes(ANSWER), 'the whole answer');
    expect(chat.texts).toEqual([ANSWER.slice(0, 130).trim(), 'By the way.', ANSWER]);
  }),

  behaviour('that said much before it went on is not said twice', ['previews'], async (stage) => {
    const chat = await stage.chat();
    const much = { text: ANSWER, chunkSize: 20, eventDelayMs: 90 };
    const aside = { name: 'message', arguments: { text: 'By the way.' } };
    chat.scripted({ ...much, calls: [aside] }, 'And that is all.');
    chat.sends('tell me');
    await chat.sees((texts) => texts.includes('And that is all.'), 'the answer');
    await stage.settled();
    expect(chat.texts).toEqual([ANSWER, 'By the way.', 'And that is all.']);
  }),

  behaviour('is announced by typing, which ends with it', ['typing'], async (stage) => {
    const chat = await stage.chat();
    // Beside many other chats the first may wait for the platform's limit on calls, so a second comes too.
    chat.scripted({ text: 'There.', delayMs: 5_500 });
    await chat.asks('think');
    const typed = chat.bot.typed(chat.place);
    expect(typed).toBeGreaterThan(0);
    await stage.settled();
    expect(chat.bot.typed(chat.place)).toBe(typed);
  }),
];

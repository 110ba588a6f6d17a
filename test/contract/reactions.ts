import { expect } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { behaviour, type Behaviour } from './behaviour.ts';
import type { Person, Seen } from './bench.ts';
import type { Chat } from './stage.ts';

const told = ({ heard }: Chat): readonly string[] => heard.match(/^reaction: .*$/gmu) ?? [];

/** Somebody reacts to a message that the assistant knows to have arrived, and the assistant has dealt with that. */
async function reacts(
  chat: Chat,
  seen: Seen,
  ...emojis: readonly { emoji: string; by?: Person; takenBack?: boolean }[]
): Promise<void> {
  const { stage, place } = chat;
  const isSent = async (): Promise<boolean> =>
    (await stage.assistant.call('outboxList', {})).every((item) => item.chat !== place.chatId);
  await waitFor(isSent, { what: 'everything is sent' });
  for (const { emoji, by = chat.by, ...options } of emojis) chat.bot.reacts?.(place, seen, by, emoji, options);
  await stage.settled();
}

export const reactionBehaviours: readonly Behaviour[] = [
  behaviour('shows that a message is worked on, and goes when it is answered', ['reactions'], async (stage) => {
    const chat = await stage.chat();
    const gate = Promise.withResolvers<void>();
    chat.scripted(async () => {
      await gate.promise;
      return 'Done.';
    });
    const id = chat.sends('do it');
    await waitFor(() => chat.marks(id).length === 1, { what: 'a reaction' });
    gate.resolve();
    await chat.sees((texts) => texts.includes('Done.'), 'an answer');
    await waitFor(() => chat.marks(id).length === 0, { what: 'no reaction' });
  }),

  behaviour('shows that a message joined the turn that runs', ['reactions'], async (stage) => {
    const chat = await stage.chat();
    const gate = Promise.withResolvers<void>();
    chat.scripted(async () => {
      await gate.promise;
      return { calls: [{ name: 'list_dir', arguments: {} }] };
    }, 'Both.');
    const ids = [chat.sends('one')];
    await waitFor(() => chat.asked.length === 1, { what: 'a model call' });
    ids.push(chat.sends('two'));
    await waitFor(() => ids.every((id) => chat.marks(id).length === 1), { what: 'a reaction on each' });
    gate.resolve();
    await chat.sees((texts) => texts.includes('Both.'), 'an answer');
    await waitFor(() => ids.every((id) => chat.marks(id).length === 0), { what: 'no reaction' });
  }),

  behaviour('stays on a message that could not be answered', ['reactions'], async (stage) => {
    const chat = await stage.chat();
    chat.scripted({ error: { status: 401, message: 'Incorrect API key provided.' } });
    const id = chat.sends('hello');
    await chat.sees((texts) => texts.length === 1, 'what went wrong');
    const [mark] = await waitFor(() => (chat.marks(id).length === 1 ? chat.marks(id) : undefined), {
      what: 'a reaction',
    });
    await waitFor(() => chat.marks(id).length === 1 && chat.marks(id)[0] !== '👀', { what: `another than ${mark}` });
  }),

  behaviour('of a person to an answer is told with their next message, once', ['reactions'], async (stage) => {
    const chat = await stage.chat();
    const answer = await chat.asks('first');
    await reacts(chat, answer, { emoji: '👎' });
    expect(chat.asked).toHaveLength(1);
    await chat.asks('second');
    expect(told(chat)).toEqual(['reaction: The person reacted 👎 to your message “Heard: first”']);
    await chat.asks('third');
    expect(told(chat)).toEqual([]);
  }),

  behaviour('that was taken back is not told', ['reactions'], async (stage) => {
    const chat = await stage.chat();
    const answer = await chat.asks('first');
    await reacts(chat, answer, { emoji: '👍' }, { emoji: '👍', takenBack: true });
    await chat.asks('second');
    expect(told(chat)).toEqual([]);
  }),

  behaviour(
    'of somebody else in a group is told with their name, as text of others',
    ['reactions', 'groups'],
    async (stage) => {
      const group = await stage.group();
      const other = stage.friend();
      group.scripted('Buy milk.');
      const answer = await group.asks('first');
      await reacts(group, answer, { emoji: '👍', by: other });
      await group.asks('second');
      expect(told(group)).toEqual([`reaction: ${other.name} (trusted) reacted 👍 to your message “Buy milk.”`]);
    },
  ),

  behaviour('of a stranger is not told', ['reactions', 'groups', 'people'], async (stage) => {
    const group = await stage.group();
    const answer = await group.asks('first');
    await reacts(group, answer, { emoji: '👎', by: stage.bot().person('Stranger') });
    await group.asks('second');
    expect(told(group)).toEqual([]);
  }),

  behaviour('answers no question', ['reactions'], async (stage) => {
    const chat = await stage.chat('owner');
    chat.scripted(
      { calls: [{ name: 'ask_user', arguments: { question: 'Delete it?', choices: ['Yes', 'No'] } }] },
      'So be it.',
    );
    chat.sends('delete it');
    await chat.sees((texts) => texts.length === 1, 'the question');
    const [question] = chat.seen;
    if (question === undefined) throw new Error('there is no question');
    await reacts(chat, question, { emoji: '👍' });
    expect(chat.asked).toHaveLength(1);
    await chat.asks('No');
    expect(JSON.stringify(chat.asked.at(-1)?.body)).toContain('No');
    expect(JSON.stringify(chat.asked.at(-1)?.body)).not.toContain('👍');
  }),
];

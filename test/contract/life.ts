import { expect } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { behaviour, type Behaviour } from './behaviour.ts';

const LONG = `It begins. ${'A sentence of the answer. '.repeat(12)}It ends.`.trim();

export const lifeBehaviours: readonly Behaviour[] = [
  behaviour('tells in its status that it runs, and since when it heard nothing', [], async (stage) => {
    await (await stage.chat()).asks('hello');
    const { channels } = await stage.assistant.call('info', {});
    expect(channels[stage.channel()]).toMatchObject({ state: 'running' });
    if (stage.platform.lacks.network === undefined) {
      expect(Date.now() - (channels[stage.channel()]?.lastInboundAt ?? 0)).toBeLessThan(60_000);
    }
  }),

  behaviour(
    'with wrong credentials is off with what to do, and the others run',
    ['instances', 'network'],
    async (stage) => {
      const broken = await waitFor(
        async () => {
          const { channels } = await stage.assistant.call('info', {});
          return channels['broken']?.state === 'failed' ? channels['broken'] : undefined;
        },
        { what: 'a failed channel' },
      );
      expect(broken.detail).toContain('channels.broken');
      await (await stage.chat()).asks('hello');
    },
  ),

  behaviour('comes back by itself after a cut connection', ['network'], async (stage) => {
    const chat = await stage.chat();
    await chat.asks('before');
    chat.bot.cut();
    await chat.asks('after');
    expect(chat.texts).toEqual(['Heard: before', 'Heard: after']);
  }),

  behaviour('answers after a restart what was written while nobody listened, once', ['backlog'], async (stage) => {
    const chat = await stage.chat();
    await chat.asks('before');
    await stage.stop();
    chat.sends('are you asleep?');
    await stage.start();
    await chat.sees((texts) => texts.length === 2, 'an answer');
    expect(chat.texts).toEqual(['Heard: before', 'Heard: are you asleep?']);
    await stage.restart();
    await stage.settled();
    expect(chat.texts).toHaveLength(2);
  }),

  behaviour(
    'takes its reactions away after a restart, when their message is dealt with',
    ['reactions'],
    async (stage) => {
      const chat = await stage.chat();
      chat.scripted({ text: 'Too late.', delayMs: 20_000 }, 'Here I am.');
      const id = chat.sends('take your time');
      await waitFor(() => chat.marks(id).length === 1, { what: 'a reaction' });
      await stage.restart();
      await chat.sees((texts) => texts.includes('Here I am.'), 'an answer');
      await waitFor(() => chat.marks(id).length === 0, { what: 'no reaction' });
    },
  ),

  behaviour('repeats nothing after a restart', [], async (stage) => {
    const chat = await stage.chat();
    await chat.asks('once');
    const asked = chat.asked.length;
    await stage.restart();
    await stage.settled();
    expect(chat.texts).toEqual(['Heard: once']);
    expect(chat.asked).toHaveLength(asked);
  }),

  behaviour('goes on after a restart with what it was working on', [], async (stage) => {
    const chat = await stage.chat();
    const asked = Promise.withResolvers<void>();
    chat.scripted(async () => {
      asked.resolve();
      return { text: 'Cut off.', delayMs: 20_000 };
    }, 'Here it is.');
    chat.sends('work');
    await asked.promise;
    await stage.restart();
    await chat.sees((texts) => texts.length > 0, 'the answer');
    expect(chat.texts).toEqual(['Here it is.']);
  }),

  behaviour('finishes after a restart the message that it was writing, in its place', ['previews'], async (stage) => {
    const chat = await stage.chat();
    const slow = { text: LONG, chunkSize: 10, eventDelayMs: 90 };
    chat.scripted(slow, LONG);
    chat.sends('tell me');
    await chat.sees((texts) => texts.length > 0, 'its beginning');
    await stage.restart();
    await chat.sees((texts) => texts.includes(LONG), 'the whole answer');
    expect(chat.texts).toEqual([LONG]);
  }),

  behaviour('knows a conversation after a restart', [], async (stage) => {
    const chat = await stage.chat();
    await chat.asks('the word is plum');
    await stage.restart();
    await chat.asks('what is the word?');
    expect(JSON.stringify(chat.asked.at(-1)?.body)).toContain('the word is plum');
  }),

  behaviour('ends within ten seconds when it is told to', [], async (stage) => {
    const began = performance.now();
    await stage.stop();
    expect(performance.now() - began).toBeLessThan(10_000);
    await stage.start();
  }),
];

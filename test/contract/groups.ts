import { expect } from 'vitest';
import { behaviour, type Behaviour } from './behaviour.ts';

export const groupBehaviours: readonly Behaviour[] = [
  behaviour('is answered where it mentions the assistant, and nowhere else', ['groups'], async (stage) => {
    const group = await stage.group();
    group.sends('just between us');
    await stage.settled();
    expect(group.seen).toEqual([]);
    await group.asks('what now?');
    expect(group.asked).toHaveLength(1);
  }),

  behaviour('means the assistant by answering it', ['groups', 'replies'], async (stage) => {
    const group = await stage.group();
    const { id } = await group.asks('hello');
    const other = stage.friend();
    await group.asks('and me?', { by: other, mention: false, replyTo: id });
    expect(group.heard).toContain(other.name);
  }),

  behaviour('hears who speaks', ['groups'], async (stage) => {
    const group = await stage.group();
    await group.asks('it is me');
    expect(group.heard).toContain(`from: ${group.by.name} (trusted)`);
    expect(group.heard).toMatch(/^chat: \S+ \(group\)$/mu);
  }),

  behaviour('is read along, as the words of others and without an answer of their own', ['groups'], async (stage) => {
    const group = await stage.group();
    const other = stage.friend();
    group.sends('my train is the 10:15', { by: other });
    await group.asks('which train?');
    expect(group.heard).toMatch(/earlier in this chat:\n<untrusted [^>]*>/u);
    expect(group.heard).toContain(`${other.name}: my train is the 10:15`);
    expect(group.asked).toHaveLength(1);
  }),

  behaviour('is read along for its last 50 messages', ['groups'], async (stage) => {
    const group = await stage.group();
    const other = stage.friend();
    for (let n = 1; n <= 53; n += 1) group.sends(`aside ${n} of many`, { by: other });
    await group.asks('what was that?');
    const found = group.heard.match(/aside \d+ of many/gu) ?? [];
    expect(found).toHaveLength(50);
    expect(found[0]).toBe('aside 4 of many');
  }),

  behaviour('is read along once', ['groups'], async (stage) => {
    const group = await stage.group();
    group.sends('the first aside', { by: stage.friend() });
    await group.asks('one');
    await group.asks('two');
    expect(group.heard).not.toContain('the first aside');
  }),

  behaviour(
    'may go on without a mention for the one who was answered, and for nobody else',
    ['groups'],
    async (stage) => {
      const group = await stage.group();
      await group.asks('hello');
      group.sends('who is that?', { by: stage.friend() });
      await group.asks('are you there?', { mention: false });
      expect(group.asked).toHaveLength(2);
      expect(group.heard).toContain('who is that?');
    },
  ),

  behaviour('with the policy off is not heard', ['groups', 'instances'], async (stage) => {
    const group = await stage.group('closed');
    group.sends('hello', { mention: true });
    await stage.settled('closed');
    expect(group.asked).toEqual([]);
  }),

  behaviour('that is not on the list is not heard', ['groups', 'instances'], async (stage) => {
    const group = await stage.group('open');
    group.sends('hello', { mention: true });
    await stage.settled('open');
    expect(group.asked).toEqual([]);
  }),

  behaviour(
    'that is open gets an answer without a mention, or silence where the model chooses it',
    ['groups', 'instances'],
    async (stage) => {
      const group = stage.openGroup();
      const guest = group.bot.person('Anybody');
      group.scripted('Good morning.', {
        text: 'Let me see.',
        calls: [{ name: 'stay_silent', arguments: { reason: 'small talk' } }],
      });
      await group.asks('good morning all', { by: guest, mention: false });
      expect(group.texts).toEqual(['Good morning.']);
      expect(group.heard).toContain('(guest)');
      group.sends('nice weather', { by: guest });
      await group.sees(() => group.asked.length >= 2, 'a second turn');
      await stage.settled('open');
      expect(group.texts).toEqual(['Good morning.']);
    },
  ),

  behaviour(
    'that is open answers whoever means the assistant, whatever the model chooses',
    ['groups', 'instances'],
    async (stage) => {
      const group = stage.openGroup();
      group.scripted({ calls: [{ name: 'stay_silent', arguments: { reason: 'no' } }] }, 'Well.');
      await group.asks('say something');
      expect(group.texts).toEqual(['Well.']);
    },
  ),

  behaviour('has threads that are conversations of their own', ['groups', 'threads'], async (stage) => {
    const group = await stage.group();
    const [one, two] = [1, 2].map(() => stage.chatIn(group.bot.thread(group.place), group.by));
    if (one === undefined || two === undefined) throw new Error('there are no threads');
    await one.asks('the secret is plum');
    await two.asks('what is the secret?');
    expect(one.seen).toHaveLength(1);
    expect(two.seen).toHaveLength(1);
    expect(group.seen).toEqual([]);
    expect(JSON.stringify(two.asked.at(-1)?.body)).not.toContain('plum');
  }),

  behaviour(
    'keeps what is said in one thread out of what is read along in another',
    ['groups', 'threads'],
    async (stage) => {
      const group = await stage.group();
      const [one, two] = [1, 2].map(() => stage.chatIn(group.bot.thread(group.place), group.by));
      one?.sends('an aside over there', { by: stage.friend() });
      await two?.asks('what was said?');
      expect(two?.heard).not.toContain('an aside over there');
    },
  ),
];

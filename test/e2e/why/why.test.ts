import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import type { Answer } from '../../support/model-script.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../../support/world.ts';

const GUEST = 44;
const GROUP = -100;
const call = (name: string, args: Readonly<Record<string, unknown>>): Answer => ({
  calls: [{ name, arguments: args }],
});

let world: World;
let asking: Asking;
beforeAll(async () => {
  const telegram = { allowFrom: [String(OWNER), '*'], owners: [String(OWNER)], groups: { debounceMs: 0 } };
  const models = { 'openai/scripted-model': { price: { input: 1_000, output: 1_000 } } };
  world = await startWorld({
    config: {
      channels: { telegram },
      models,
      agent: { fallbacks: ['openai/other-model'] },
      tools: { exec: { mode: 'ask', sandbox: 'off' } },
    },
    furnish: (home) => writeFile(join(home, 'workspace', 'AGENTS.md'), '# Rules\n\nBe brief.\n'),
  });
  asking = new Asking(world);
});
afterAll(() => world[Symbol.asyncDispose]());

const say = (...said: Parameters<Asking['say']>): Promise<number> => asking.say(...said);
const why = (...about: Parameters<Asking['why']>): Promise<string> => asking.why(...about);
const whole = (...about: Parameters<Asking['whole']>): Promise<string> => asking.whole(...about);

describe('/why names the cause first', () => {
  test('of an answer', async () => {
    await say('how are you?', OWNER, 'Fine.');
    expect(await why()).toBe('About “how are you?”: It was answered.');
  });

  test('of an answer to which one replies, and of what it replied to', async () => {
    const asked = await say('which day?', OWNER, 'Thursday.');
    await say('and the next?', OWNER, 'Friday.');
    const answer = world.telegram.sentMessages.find(({ visibleText }) => visibleText === 'Thursday.');
    expect(await why(answer?.messageId)).toBe('About “which day?”: It was answered.');
    expect(await why(asked)).toBe('About “which day?”: It was answered.');
  });

  test('of a command that somebody did not allow, while it waits and after', async () => {
    world.model.reply(call('exec', { command: 'touch made' }), 'Then not.');
    const { messageId } = world.telegram.userSays(OWNER, 'make it');
    const code = await waitFor(
      () => /\/deny (\w+)/u.exec(chatOf(world).find((text) => text.includes('touch made')) ?? '')?.[1],
      { what: 'the question' },
    );
    expect(await why(messageId)).toBe('About “make it”: It waits for an answer to the question about “touch made”.');
    world.telegram.userSays(OWNER, `/deny ${code}`);
    await waitFor(() => chatOf(world).some((text) => text.startsWith('Then not.')), { what: 'the answer' });
    await asking.over(messageId);
    expect(await why(messageId)).toBe('About “make it”: “touch made” was not done: telegram:42 said no.');
  });

  test('of what is being worked on, of what joined it, and of both when it was stopped', async () => {
    let isHeld = true;
    const held = waitFor(() => !isHeld, { timeoutMs: 60_000, what: 'the stop' });
    world.model.setHandler(async () => {
      await held;
      return 'Too late.';
    });
    const first = world.telegram.userSays(OWNER, 'think long').messageId;
    await waitFor(() => world.model.inFlight > 0, { what: 'the model call' });
    expect(await why(first)).toMatch(
      /^About “think long”: I am still working on it, for \d+ s: the model is being asked\.$/u,
    );
    const stop = world.telegram.userSays(OWNER, '/stop').messageId;
    await waitFor(() => chatOf(world).at(-1)?.includes('topped') === true, { what: 'the reply to the stop' });
    isHeld = false;
    await asking.over(first);
    expect(await why(first)).toBe('About “think long”: It was stopped: /stop was sent.');
    expect(await why(stop)).toBe('About “/stop”: It was the request to stop, and it was carried out when it came.');
  });

  test('of an empty answer', async () => {
    const asked = await say('nothing?', OWNER, '', '', '');
    expect(await why(asked)).toBe(
      'About “nothing?”: I could not answer it. The model gave an empty answer, also when asked again. Send /retry, or put it in other words.',
    );
  });

  test('of an answer that the platform refused', async () => {
    world.telegram.setFaultHandler(({ method, payload }) =>
      method === 'sendMessage' && JSON.stringify(payload).includes('Blocked words')
        ? { status: 400, description: 'Bad Request: message text is forbidden' }
        : undefined,
    );
    world.model.reply('Blocked words.');
    const { messageId } = world.telegram.userSays(OWNER, 'say it');
    await waitFor(async () => /did not arrive/u.test(await why(messageId)), { what: 'the failure' });
    expect(await why(messageId)).toBe(
      'About “say it”: The answer was written but did not arrive: Telegram answered 400: Bad Request: message text is forbidden.',
    );
    world.telegram.setFaultHandler(() => undefined);
  });

  test('and says which line of a file cost the prompt cache, and what the turn cost, as usage has it', async () => {
    await say('before', OWNER, 'Yes.');
    await writeFile(join(world.workspace, 'AGENTS.md'), '# Rules\n\nNever shout.\n');
    const before = (await world.assistant.call('usage', { days: 1, by: 'session' })).rows;
    const asked = await say('after', OWNER, 'Yes.');
    const after = (await world.assistant.call('usage', { days: 1, by: 'session' })).rows;
    const cost = (rows: typeof after): number => rows.find(({ name }) => name === 'telegram:42')?.costUsd ?? 0;
    const told = await whole(asked);
    expect(told).toMatch(/The system prompt had changed at “Never shout\.” since the turn before/u);
    expect(told).toContain(`$${(cost(after) - cost(before)).toFixed(4)}`);
  });

  test('also for the owner elsewhere: by the id of a message or turn, by the conversation, and for a time', async () => {
    const since = Date.now();
    await say('by id?', OWNER, 'Yes.');
    const ask = async (asked: object): Promise<readonly { cause: string; subject: string; turn: string | null }[]> =>
      (await world.assistant.call('why', { count: 10, ...asked })).stories;
    const [newest] = await ask({ about: 'telegram:42' });
    expect(newest).toMatchObject({ subject: '“by id?”', cause: 'It was answered.' });
    expect(await ask({ about: newest?.turn ?? '' })).toEqual([newest]);
    expect(await ask({ since })).toEqual([newest]);
    await expect(ask({ about: 'nothing' })).rejects.toThrow(/^Nothing is known of "nothing"\. Give the id of/u);
  });

  test('of a message that never came', async () => {
    expect(await why(987_654)).toMatch(
      /^About a message that I do not know: I never received it\. The channel telegram is running now\.$/u,
    );
  });

  test('to guests only of their own messages, without prices', async () => {
    await say('hello', GUEST, 'Hello.');
    const own = await whole(undefined, GUEST);
    expect(own).toContain('About “hello”: It was answered.');
    expect(own).not.toMatch(/Cost|scripted-model|Turn:/u);
    const mine = world.telegram.userSays(GROUP, '@test_bot hi', {
      entities: [{ type: 'mention', offset: 0, length: 9 }],
      from: { id: OWNER },
    }).messageId;
    world.model.reply(call('exec', { command: 'touch other' }), 'Hi.');
    const code = await waitFor(
      () =>
        world.telegram.sentMessages
          .map(({ visibleText }) =>
            visibleText.includes('touch other') ? /\/deny (\w+)/u.exec(visibleText)?.[1] : undefined,
          )
          .find((found) => found !== undefined),
      { what: 'the question' },
    );
    world.telegram.userSays(OWNER, `/deny ${code}`);
    await waitFor(() => chatOf(world, GROUP).some((text) => text.startsWith('Hi.')), {
      what: 'the answer in the group',
    });
    await asking.over(mine);
    const inGroup = (from: number): void => {
      world.telegram.userSays(GROUP, '/why@test_bot', {
        entities: [{ type: 'bot_command', offset: 0, length: 13 }],
        from: { id: from },
        reply_to_message: { message_id: mine, date: 1, chat: { id: GROUP, type: 'group' }, text: 'x' },
      });
    };
    inGroup(GUEST);
    await waitFor(() => chatOf(world, GROUP).includes('I can tell you that only of your own messages.'), {
      what: 'the refusal',
    });
    // Everybody in the group reads what the owner is told there.
    inGroup(OWNER);
    const open = await waitFor(() => chatOf(world, GROUP).find((text) => text.startsWith('About ')), {
      what: 'the story',
    });
    expect(open).toContain('Something that needs a yes was not done: the owner said no.');
    expect(open).not.toMatch(/Cost|scripted-model|Turn:|touch|telegram:42/u);
  });
});

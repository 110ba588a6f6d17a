import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

async function say(world: World, text: string, chat = OWNER): Promise<string> {
  const before = chatOf(world, chat).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).length > before, { what: `a reply to ${text}` });
  return chatOf(world, chat)[before] ?? '';
}

const modelOf = (world: World): unknown => world.model.requests.at(-1)?.body['model'];

function times(world: World, text: string): number {
  return JSON.stringify(world.model.requests.at(-1)?.body).split(text).length - 1;
}

describe('/setup', () => {
  test('in a chat says that it works in a terminal, and with which command', async () => {
    await using world = await startWorld();
    expect(await say(world, '/setup')).toBe(
      '/setup works in a terminal, since keys and tokens do not belong into a chat. On the machine where I run: npm run assistant -- init',
    );
    expect(world.model.requests).toEqual([]);
  });
});

describe('/status', () => {
  test('names a channel that is configured and switched off, as does the command line', async () => {
    await using world = await startWorld({ config: { channels: { discord: { enabled: false, token: 'unused' } } } });
    expect(await say(world, '/status')).toContain('discord: stopped (switched off: enabled is false in config.json)');
    expect((await world.assistant.call('info', {})).channels['discord']).toMatchObject({ state: 'stopped' });
  });
});

describe('/model', () => {
  test('shows, sets and resets the model of this conversation, also after a restart; others keep theirs', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42', '43'] } } },
    });
    world.model.setHandler(() => 'ok');
    expect(await say(world, '/model')).toContain('default, openai/scripted-model');
    expect(await say(world, '/model openai/gpt-5.5')).toBe('From now on openai/gpt-5.5 answers here.');
    await say(world, 'hi');
    expect(modelOf(world)).toBe('gpt-5.5');
    await world.restart();
    await say(world, 'hi again');
    expect(modelOf(world)).toBe('gpt-5.5');
    expect(await say(world, '/model')).toContain('The model here is openai/gpt-5.5');
    expect(await say(world, '/status')).toContain('openai/gpt-5.5');
    await say(world, 'hi', 43);
    expect(modelOf(world)).toBe('scripted-model');
    await say(world, '/model default');
    await say(world, 'hi');
    expect(modelOf(world)).toBe('scripted-model');
  });

  test('refuses what cannot be called with a sentence and leaves the choice alone', async () => {
    await using world = await startWorld();
    world.model.reply('ok');
    expect(await say(world, '/model opnai/gpt-5.5')).toMatch(/did you mean "openai"\?.*Nothing was changed/su);
    expect(await say(world, '/model anthropic/claude')).toMatch(/no API key.*Nothing was changed/su);
    await say(world, 'hi');
    expect(modelOf(world)).toBe('scripted-model');
  });

  test('is the owner’s alone, and a turn that runs keeps its model', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } } },
    });
    expect(await say(world, '/model openai/gpt-5.5', 43)).toBe('/model is for the owner only.');
    world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }], delayMs: 300 }, 'Done.', 'Next.');
    world.telegram.userSays(OWNER, 'list');
    await waitFor(() => world.model.inFlight === 1);
    world.telegram.userSays(OWNER, '/model openai/gpt-5.5');
    await waitFor(() => chatOf(world).length === 2);
    expect(modelOf(world)).toBe('scripted-model');
    await say(world, 'next');
    expect(modelOf(world)).toBe('gpt-5.5');
  });
});

describe('/retry', () => {
  const refusal = { error: { status: 402, message: 'no' } };

  test('runs a message again that failed; the model reads it once, and the conversation goes on', async () => {
    await using world = await startWorld();
    world.model.reply('Hello.', refusal, 'Forty-two.', 'Indeed.');
    await say(world, 'hi');
    const failure = await say(world, 'what is six times seven?');
    expect(failure).not.toBe('Forty-two.');
    expect(await say(world, '/retry')).toBe('Forty-two.');
    expect(times(world, 'six times seven')).toBe(1);
    expect(times(world, '/retry')).toBe(0);
    await say(world, 'sure?');
    expect([times(world, 'six times seven'), times(world, 'Forty-two.')]).toEqual([1, 1]);
    expect(await say(world, '/retry')).toMatch(/was answered/u);
    expect(world.model.requests).toHaveLength(4);
  });

  test('as a reply to a notice, or to the message itself, runs that one of several that failed', async () => {
    await using world = await startWorld();
    world.model.reply(refusal, refusal, refusal, 'About apples.', 'About pears.');
    const asked: number[] = [];
    for (const about of ['apples', 'pears', 'plums']) {
      asked.push(world.telegram.userSays(OWNER, `tell me about ${about}`).messageId);
      await waitFor(() => chatOf(world).length === asked.length);
    }
    const replyTo = (message_id: number, isBot: boolean): Record<string, unknown> => ({
      reply_to_message: {
        message_id,
        date: 1,
        chat: { id: OWNER, type: 'private' },
        from: { id: isBot ? 1 : OWNER, is_bot: isBot, first_name: 'x' },
        text: 'x',
      },
    });
    const [ofApples] = world.telegram.sentMessages;
    world.telegram.userSays(OWNER, '/retry', replyTo(ofApples?.messageId ?? 0, true));
    await waitFor(() => chatOf(world).length === 4);
    world.telegram.userSays(OWNER, '/retry', replyTo(asked[1] ?? 0, false));
    await waitFor(() => chatOf(world).length === 5);
    expect(chatOf(world).slice(3)).toEqual(['About apples.', 'About pears.']);
    expect(times(world, 'about pears')).toBe(1);
    world.telegram.userSays(OWNER, '/retry', replyTo(ofApples?.messageId ?? 0, true));
    await waitFor(() => chatOf(world).length === 6);
    expect(chatOf(world)[5]).toMatch(/run again already/u);
    expect(world.model.requests).toHaveLength(5);
  });

  test('with the first words of a message runs that one; without any it names what else failed', async () => {
    await using world = await startWorld();
    world.model.reply(refusal, refusal, 'About plums.', 'About apples.');
    await say(world, 'Tell me about apples, please');
    await say(world, 'tell me about `pears`');
    await say(world, 'and plums?');
    const named = await say(world, '/retry');
    expect(named).toMatch(/^Your last message was answered/u);
    expect(named).toContain('/retry Tell me about apples, please');
    expect(named).toContain("/retry tell me about 'pears'");
    expect(await say(world, '/retry tell me about “apples”')).toBe('About apples.');
    expect(await say(world, '/retry bananas')).toMatch(/^No message that failed begins with “bananas”\./u);
    expect(world.model.requests).toHaveLength(4);
  });

  test('runs a message again that was stopped, with what had joined it, also after a restart', async () => {
    await using world = await startWorld();
    world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }], delayMs: 300 }, { fault: 'hang' }, 'Both.');
    world.telegram.userSays(OWNER, 'list the files');
    await waitFor(() => world.model.inFlight === 1);
    world.telegram.userSays(OWNER, 'and be brief');
    await waitFor(() => world.model.requests.length === 2);
    expect(await say(world, '/stop')).toBe('Stopped.');
    await world.restart();
    expect(await say(world, '/retry')).toBe('Both.');
    expect([times(world, 'list the files'), times(world, 'and be brief')]).toEqual([1, 1]);
    expect(times(world, '"arguments":"{}"')).toBe(0);
  });

  test('answers in the terminal like any message, and says so when there is nothing to run', async () => {
    await using world = await startWorld();
    expect(await world.assistant.run('/retry')).toMatchObject({ text: 'There is no message to run again.' });
    world.model.reply(refusal, 'Better.');
    expect(await world.assistant.run('hi')).toMatchObject({ outcome: 'failed' });
    expect(await world.assistant.run('/retry')).toMatchObject({ outcome: 'answered', text: 'Better.' });
  });
});

describe('/usage', () => {
  test('counts the tokens of this conversation, of today and of all', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } } },
    });
    world.model.setHandler(() => ({ text: 'ok', usage: { input: 1_000, output: 20 } }));
    await say(world, 'hi');
    await say(world, 'hi again');
    await say(world, 'hi', 43);
    const owner = await say(world, '/usage');
    expect(owner).toMatch(/Here today: 2,000 tokens in, 40 out, 2 calls;/u);
    expect(owner).toMatch(/Everywhere: 3,000 tokens in, 60 out, 3 calls;/u);
    const other = await say(world, '/usage', 43);
    expect(other).toMatch(/Here in total: 1,000 tokens in, 20 out, 1 call;/u);
    expect(other).not.toContain('Everywhere');
  });
});

describe('a command with a colon or full-width signs', () => {
  test.each(['/model:default', '/model: default', '/model：default', '／model default', '／model：default'])(
    '%s is the command',
    async (text) => {
      await using world = await startWorld();
      expect(await say(world, text)).toMatch(/^From now on the default model/u);
    },
  );

  test.each(['/note: buy milk', '/etc/hosts: what is it?'])('%s is an ordinary message', async (text) => {
    await using world = await startWorld();
    world.model.reply('ok');
    expect(await say(world, text)).toBe('ok');
  });
});

import { describe, expect, test } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import type { Answer } from '../../support/model-script.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../../support/world.ts';

const STRANGER = 99;
const call = (name: string, args: Readonly<Record<string, unknown>>): Answer => ({
  calls: [{ name, arguments: args }],
});
const FULL = { tools: { exec: { mode: 'full', sandbox: 'off' } } };

/** The cause of one thing that was said to an assistant with these settings. */
async function causeOf(
  config: Readonly<Record<string, unknown>>,
  play: (asking: Asking, world: World) => Promise<number | undefined>,
): Promise<string> {
  await using world = await startWorld({ config });
  const asking = new Asking(world);
  return (await asking.why(await play(asking, world))).replace(/^About [^:]*: /u, '');
}

describe('/why names', () => {
  test('the command that failed', async () => {
    const cause = await causeOf(FULL, (asking) =>
      asking.say('make', OWNER, call('exec', { command: 'mkdir a/b' }), 'Done.'),
    );
    expect(cause).toMatch(
      /^Failed: mkdir a\/b ended with exit code 1\. It said last: “mkdir: .*No such file or directory”\.$/u,
    );
  });

  test('the budget that was used up', async () => {
    const cause = await causeOf({ agent: { budget: { dayTokens: 20 } } }, async (asking) => {
      await asking.say('one', OWNER, 'Yes.');
      await asking.say('two', OWNER, 'Yes.');
      return await asking.say('three');
    });
    expect(cause).toBe(
      'I could not answer it. I stopped because today’s budget is used up: 30 tokens of 20 tokens. Raise agent.budget.dayTokens in the configuration, or wait for tomorrow.',
    );
  });

  test('the limit of steps', async () => {
    const cause = await causeOf({ agent: { maxIterations: 1 } }, (asking) =>
      asking.say('look', OWNER, call('list_dir', { path: '.' })),
    );
    expect(cause).toBe(
      'I could not answer it. I used the one step that one request may take (agent.maxIterations) and could not sum up where I am. Say “go on” to let me continue.',
    );
  });

  test('that a message joined the turn that was running', async () => {
    const cause = await causeOf({}, async (asking, world) => {
      let isHeld = true;
      world.model.setHandler(async ({ view }) => {
        if (view.toolResults.length > 0) return 'To both.';
        await waitFor(() => !isHeld, { timeoutMs: 60_000, what: 'the second message' });
        return call('list_dir', { path: '.' });
      });
      world.telegram.userSays(OWNER, 'first');
      await waitFor(() => world.model.inFlight > 0, { what: 'the model call' });
      const { messageId } = world.telegram.userSays(OWNER, 'second');
      await waitFor(
        async () => (await asking.why(messageId)).includes('an earlier turn of this conversation is still running'),
        {
          what: 'the second message',
        },
      );
      isHeld = false;
      await waitFor(() => chatOf(world).includes('To both.'), { what: 'the answer' });
      await asking.over(messageId);
      return messageId;
    });
    expect(cause).toBe(
      'It came while I was already working, and joined that turn. 1 other message had the same answer.',
    );
  });

  test('that a message was the answer to a question, or a command', async () => {
    const cause = await causeOf({ tools: { exec: { mode: 'ask', sandbox: 'off' } } }, async (_, world) => {
      world.model.reply(call('exec', { command: 'touch made' }), 'Then not.');
      world.telegram.userSays(OWNER, 'make it');
      const code = await waitFor(() => /\/deny (\w+)/u.exec(chatOf(world).at(-1) ?? '')?.[1], { what: 'the question' });
      const { messageId } = world.telegram.userSays(OWNER, `/deny ${code}`);
      await waitFor(() => chatOf(world).some((text) => text.startsWith('Then not.')), { what: 'the answer' });
      return messageId;
    });
    expect(cause).toBe('It was taken as the answer to a question.');
    expect(await causeOf({}, (asking) => asking.say('/status'))).toBe(
      'It was a command, and its reply is all that it does.',
    );
  });

  test('why the platform does not take the answer yet', async () => {
    await using world = await startWorld();
    world.telegram.setFaultHandler(({ method }) =>
      method === 'sendMessage' ? { status: 429, retryAfter: 60 } : undefined,
    );
    world.model.reply('Slow words.');
    world.telegram.userSays(OWNER, 'say it');
    const cause = async (): Promise<string | undefined> =>
      (await world.assistant.call('why', { count: 1, about: 'telegram:42' }).catch(() => undefined))?.stories[0]?.cause;
    await waitFor(async () => /Too Many Requests/iu.test((await cause()) ?? ''), { what: 'the attempt' });
    expect(await cause()).toBe(
      'The answer is written and waits to be sent, after 1 attempt: Telegram answered 429: Too Many Requests: retry after 60.',
    );
  });

  test('that nobody let somebody in', async () => {
    await using world = await startWorld();
    world.telegram.userSays(STRANGER, 'let me in');
    await waitFor(() => chatOf(world, STRANGER).length > 0, { what: 'the code' });
    const { stories } = await world.assistant.call('why', { count: 1, about: `telegram:${STRANGER}` });
    expect(stories[0]?.cause).toMatch(
      /^I did not take what they wrote: nobody has let them in\. They were sent a code; to let them in, run: \S.* pair approve [0-9A-Z]{8}$/u,
    );
  });
});

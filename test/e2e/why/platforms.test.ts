import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isOver } from '../../support/asking-why.ts';
import { reads, startDiscordWorld, type DiscordWorld } from '../../support/discord-world.ts';
import type { Answer, Step } from '../../support/model-script.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { DIRECT, OWNER, postsIn, startSlackWorld, type SlackWorld } from '../../support/slack-world.ts';
import { waitFor } from '../../support/wait.ts';

const CONFIG = {
  agent: { fallbacks: ['openai/other-model'] },
  tools: { exec: { mode: 'ask', sandbox: 'off' } },
};
const call = (name: string, args: Readonly<Record<string, unknown>>): Answer => ({
  calls: [{ name, arguments: args }],
});
const WRITE = call('write_file', { path: '/etc/x.md', content: 'x' });
const REFUSED: Step = { error: { status: 401 } };

describe('“Why?” in the menu of a message on Discord names', () => {
  const clock = new SkippingClock();
  let world: DiscordWorld;
  beforeAll(async () => (world = await startDiscordWorld({ clock, config: CONFIG })));
  afterAll(() => world[Symbol.asyncDispose]());

  const send = (text: string): string => world.discord.sends(world.direct, world.owner, text).id;
  async function say(text: string, ...steps: Step[]): Promise<string> {
    world.model.reply(...steps);
    const id = send(text);
    await isOver(world.home, `m:${id}`);
    return id;
  }
  async function why(id: string): Promise<string> {
    const open = world.discord.commandsOn(world.direct, world.owner, 'Why?', id);
    const post = await waitFor(() => open.post, { what: 'the story' });
    return post.visible.split('\n')[0] ?? '';
  }

  test('the setting that refused a path', async () => {
    expect(await why(await say('write', WRITE, 'Done.'))).toBe(
      `About “write”: Not done: writing /etc/x.md was refused. /etc/x.md is outside the workspace ${world.workspace}, which tools.restrictToWorkspace does not allow.`,
    );
  });

  test('an edit that came after the answer', async () => {
    const asked = await say('when?', 'Noon.');
    world.model.reply('Here.');
    world.discord.edits(world.direct, asked, 'where?');
    await reads(world, world.direct, 'Here.');
    expect(await why(asked)).toBe(
      'About “when?”: It was edited after I had read it; the new words have an answer of their own.',
    );
  });

  test('the question that waits for the owner, and their no', async () => {
    world.model.reply(call('exec', { command: 'touch made' }), 'Then not.');
    const asked = send('make it');
    const question = await reads(world, world.direct, /touch made/u);
    expect(await why(asked)).toBe('About “make it”: It waits for an answer to the question about “touch made”.');
    expect(await why(question.id)).toBe('About “make it”: It waits for an answer to the question about “touch made”.');
    send(`/deny ${/\/deny (\w+)/u.exec(question.visible)?.[1]}`);
    await isOver(world.home, `m:${asked}`);
    expect(await why(asked)).toBe('About “make it”: “touch made” was not done: discord:4242 said no.');
  });

  test('the model that failed, also as the menu of the answer', async () => {
    const asked = await say('who?', REFUSED, 'The other one.');
    const cause =
      'About “who?”: openai/other-model answered, because openai/scripted-model failed: openai refused the key.';
    expect(await why(asked)).toBe(cause);
    expect(await why((await reads(world, world.direct, /^The other one\./u)).id)).toBe(cause);
  });

  test('that I was not running when it was sent', async () => {
    await world.assistant[Symbol.asyncDispose]();
    const asked = send('are you there?');
    clock.skip(2 * 3_600_000);
    world.model.reply('Now I am.');
    await world.restart();
    await isOver(world.home, `m:${asked}`);
    expect(await why(asked)).toMatch(
      /^About “are you there\?”: It reached me 2 h after it was sent, because I was not running\.$/u,
    );
  });
});

describe('“Why?” as a shortcut of a message in Slack names', () => {
  let world: SlackWorld;
  beforeAll(async () => (world = await startSlackWorld({ config: CONFIG })));
  afterAll(() => world[Symbol.asyncDispose]());

  const send = (text: string): string => world.slack.sends(OWNER, DIRECT, text);
  async function say(text: string, ...steps: Step[]): Promise<string> {
    world.model.reply(...steps);
    const ts = send(text);
    await isOver(world.home, `m:${ts}`);
    return ts;
  }
  async function why(ts: string): Promise<string> {
    const before = world.slack.sentPosts.length;
    world.slack.shortcut(OWNER, 'why', { chatId: DIRECT, ts });
    const post = await waitFor(
      () => world.slack.sentPosts.slice(before).find(({ text }) => text.startsWith('About ')),
      {
        what: 'the story',
      },
    );
    expect(post.onlyFor).toBe(OWNER);
    return post.text.split('\n')[0] ?? '';
  }

  test('the rule that refused a command', async () => {
    expect(await why(await say('clean', call('exec', { command: 'rm -rf /' }), 'Done.'))).toBe(
      'About “clean”: Not done: rm -rf / was refused. This command is refused in every mode: it would delete the root of the system or a system directory.',
    );
  });

  test('the message that joined a running turn, and the /stop that ended both', async () => {
    let isHeld = true;
    world.model.setHandler(async ({ view }) => {
      if (view.toolResults.length > 0) return 'To both.';
      await waitFor(() => !isHeld, { what: 'the second message' });
      return call('list_dir', { path: '.' });
    });
    const first = send('first');
    await waitFor(() => world.model.inFlight > 0, { what: 'the model call' });
    const second = send('second');
    await waitFor(async () => /an earlier turn of this conversation is still running/u.test(await why(second)), {
      what: 'the second message',
    });
    isHeld = false;
    await isOver(world.home, `m:${second}`);
    expect(await why(second)).toBe(
      'About “second”: It came while I was already working, and joined that turn. 1 other message had the same answer.',
    );
    isHeld = true;
    const last = send('think long');
    await waitFor(() => world.model.inFlight > 0, { what: 'the model call' });
    send('stop');
    await isOver(world.home, `m:${last}`);
    isHeld = false;
    expect(await why(last)).toBe('About “think long”: It was stopped: /assistant stop was sent.');
    expect(await why(first)).toBe('About “first”: 1 other message had the same answer.');
    expect(postsIn(world).filter((text) => text === 'To both.')).toHaveLength(1);
  });

  test('the failure of all models', async () => {
    const asked = await say('fail', REFUSED, REFUSED);
    expect(await why(asked)).toBe(
      'About “fail”: I could not answer it. Openai refused the API key. Correct providers.openai.apiKey, then send /assistant retry.',
    );
  });
});

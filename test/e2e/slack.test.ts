import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHANNEL, DIRECT, OWNER, postsIn, startSlackWorld, type SlackWorld } from '../support/slack-world.ts';
import { waitFor } from '../support/wait.ts';

const FRIEND = 'U0FRIEND';
const STRANGER = 'U0STRANGER';
const BOT = '<@U0TESTBOT>';

let world: SlackWorld;
beforeAll(async () => {
  const config = { tools: { exec: { mode: 'ask', sandbox: 'off' } } };
  const people = { allowFrom: [OWNER, FRIEND], owners: [OWNER], groups: { debounceMs: 0 } };
  world = await startSlackWorld({ config, slack: people });
  world.slack.workspace.addPerson(FRIEND, 'Fred');
  world.slack.workspace.addPerson(STRANGER, 'Sam');
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const said = (text: string, chatId = DIRECT, thread?: string): Promise<unknown> =>
  waitFor(() => postsIn(world, chatId, thread).includes(text), { what: `${text} in ${chatId}` });
const lastText = (): string => world.model.requests.at(-1)?.view.lastUserText ?? '';
const calls = (method: string): typeof world.slack.calls => world.slack.calls.filter((call) => call.method === method);

describe('Slack', () => {
  test('a message leads to a tool call and a reply as a block of Markdown, without previews of links', async () => {
    world.model.reply(
      { calls: [{ name: 'list_dir', arguments: { path: '.' } }] },
      'It is **empty**: https://a.example',
    );
    world.slack.sends(OWNER, DIRECT, 'what is here, <@U0FRIEND>? 1 &lt; 2 <https://b.example|there>');
    await said('It is empty: https://a.example');
    expect(world.model.requests[0]?.view.lastUserText).toContain(
      'what is here, @Fred? 1 < 2 there (https://b.example)',
    );
    expect(world.model.requests[0]?.view.lastUserText).toContain('from: Olive (owner)');
    expect(calls('chat.postMessage')[0]?.payload).toMatchObject({
      blocks: [{ type: 'markdown', text: 'It is **empty**: https://a.example' }],
      unfurl_links: 'false',
      unfurl_media: 'false',
    });
  });

  test('a skill with a Chinese name is called by that name', async () => {
    const folder = join(world.workspace, 'skills', 'sky');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'SKILL.md'), '---\nname: 天气\ndescription: Weather.\n---\nLook at the sky.');
    world.model.reply('Sunny.');
    // Slack takes a message that begins with a slash for a command of its own.
    world.slack.sends(OWNER, DIRECT, ' /天气 北京');
    await said('Sunny.');
    expect(world.model.requests.at(-1)?.text).toContain('Look at the sky.');
    world.model.reply('Cloudy.');
    world.slack.sends(OWNER, DIRECT, '$天气怎么样');
    await said('Cloudy.');
    expect(world.model.requests.at(-1)?.text.split('Look at the sky.')).toHaveLength(3);
    await rm(folder, { recursive: true });
  });

  test('names commands as Slack takes them: in the list, in what failed, in a refusal; what it names works', async () => {
    const newest = (): string => postsIn(world).at(-1) ?? '';
    world.slack.commands(OWNER, DIRECT, 'help all');
    await waitFor(() => newest().includes('/assistant retry:'), { what: 'the list of commands' });
    expect(newest()).toContain('/assistant mem text');
    expect(newest()).not.toMatch(/(?<!\w)\/(?!assistant )[a-z]/u);
    world.model.reply({ error: { status: 401, message: 'no' } }, 'Better now.');
    world.slack.sends(OWNER, DIRECT, 'a question that fails');
    await waitFor(() => newest().includes('API key'), { what: 'what failed' });
    expect(newest()).toContain('/assistant retry');
    world.slack.commands(OWNER, DIRECT, 'retry');
    await said('Better now.');
    world.model.reply('The model may say /model as it likes.');
    world.slack.sends(OWNER, DIRECT, 'thanks');
    await said('The model may say /model as it likes.');
  });

  test('a post that comes as a mention, as a message and once more is one message', async () => {
    const before = world.model.requests.length;
    world.model.reply('Once.');
    world.slack.sockets.ackLosses = 2;
    const sent = world.slack.sockets.sent.length;
    world.slack.sends(OWNER, 'C0ONCE', `${BOT} hello`, { as: 'both' });
    await said('Once.', 'C0ONCE');
    await waitFor(() => world.slack.sockets.sent.length >= sent + 4 && world.slack.sockets.unacknowledged.length === 0);
    expect(world.model.requests.length).toBe(before + 1);
    expect(lastText()).toMatch(/\nhello$/u);
  });

  test('a channel is answered when the bot is meant; a thread is a conversation that begins with what was said in it', async () => {
    const thread = world.slack.sends(FRIEND, CHANNEL, 'The door is *green*.');
    for (let n = 0; n < 25; n += 1) world.slack.sends(FRIEND, CHANNEL, `post ${n}`, { thread, as: 'nothing' });
    world.slack.sends(STRANGER, CHANNEL, 'Give me the keys.', { thread, as: 'nothing' });
    world.model.reply('Green, he says.', 'Still green.');
    world.slack.sends(OWNER, CHANNEL, `${BOT} what is it about?`, { thread, as: 'both' });
    await said('Green, he says.', CHANNEL, thread);
    expect(lastText()).toContain('post 24');
    expect(lastText()).toContain('post 5');
    expect(lastText()).not.toContain('post 4\n');
    expect(lastText()).not.toContain('keys');
    world.slack.sends(OWNER, CHANNEL, `${BOT} sure?`, { thread });
    await said('Still green.', CHANNEL, thread);
    expect(lastText()).not.toContain('post 24');
    expect(postsIn(world, CHANNEL)).toEqual([]);
  });

  test('a thread in which only the owner wrote holds no words of others', async () => {
    const thread = world.slack.sends(OWNER, 'C0MINE', 'The door is *green*.');
    world.model.reply('Green.');
    world.slack.sends(OWNER, 'C0MINE', `${BOT} what is it about?`, { thread, as: 'both' });
    await said('Green.', 'C0MINE', thread);
    expect(lastText()).toMatch(/earlier in this chat:\n[^<\n]*: The door is \*green\*\.\n/u);
    expect(lastText()).not.toContain('<untrusted');
  });

  test('an answer in the thread under a post of the bot means the bot', async () => {
    world.model.reply('Here I am.', 'Yes?');
    world.slack.sends(OWNER, 'C0REPLY', `${BOT} hi`);
    await said('Here I am.', 'C0REPLY');
    const post = world.slack.sentPosts.find(({ chatId }) => chatId === 'C0REPLY');
    world.slack.sends(FRIEND, 'C0REPLY', 'and me?', { thread: post?.ts ?? '' });
    await said('Yes?', 'C0REPLY', post?.ts);
    expect(lastText()).toContain('Here I am.');
  });

  test('/assistant runs a command or says something', async () => {
    world.slack.commands(OWNER, DIRECT, 'status');
    await waitFor(() => postsIn(world).some((text) => text.includes('slack: running')), { what: 'the status' });
    world.model.reply('It is late.');
    world.slack.commands(OWNER, DIRECT, 'what time is it');
    await said('It is late.');
    world.slack.commands(OWNER, DIRECT, '');
    await waitFor(() => postsIn(world).some((text) => text.includes('/assistant new')), { what: 'the help' });
    await waitFor(() => world.slack.sockets.unacknowledged.length === 0);
  });

  test('the shortcut “Why?” of a message is answered to the one who took it alone', async () => {
    world.model.reply('Blue.');
    world.slack.sends(FRIEND, 'C0WHY', `${BOT} which colour?`);
    await said('Blue.', 'C0WHY');
    const answer = world.slack.sentPosts.find(({ chatId }) => chatId === 'C0WHY');
    // An answer is seen while its turn still ends.
    await waitFor(async () => (await world.assistant.call('turnsList', { count: 1 }))[0]?.outcome !== null);
    world.slack.shortcut(FRIEND, 'why', { chatId: 'C0WHY', ts: answer?.ts ?? '' });
    const own = await waitFor(() => world.slack.sentPosts.find(({ onlyFor }) => onlyFor === FRIEND), {
      what: 'an answer',
    });
    expect(own).toMatchObject({ chatId: 'C0WHY', text: expect.stringContaining('“which colour?”: It was answered.') });
    expect(postsIn(world, 'C0WHY').length).toBe(2);
    await waitFor(() => world.slack.sockets.unacknowledged.length === 0);
  });

  test('a shortcut of another name, and one of a stranger, are nothing', async () => {
    const before = world.slack.sentPosts.length;
    const ts = world.slack.sends(FRIEND, 'C0WHY', 'just a word', { as: 'nothing' });
    world.slack.shortcut(FRIEND, 'other', { chatId: 'C0WHY', ts });
    world.slack.shortcut(STRANGER, 'why', { chatId: 'C0WHY', ts });
    await waitFor(() => world.slack.sockets.unacknowledged.length === 0);
    world.model.reply('Still here.');
    world.slack.sends(OWNER, DIRECT, 'are you there?');
    await said('Still here.');
    expect(world.slack.sentPosts.length).toBe(before + 1);
  });

  test('in a channel a question for a yes is shown to the owner alone, and goes when it is answered', async () => {
    world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'touch a.txt' } }] }, 'Done.');
    world.slack.sends(OWNER, 'C0ASK', `${BOT} make a file`);
    const question = await waitFor(() => world.slack.sentPosts.find(({ text }) => text.includes('touch a.txt')));
    expect(question.onlyFor).toBe(OWNER);
    world.slack.presses(FRIEND, question, 'Allow once');
    world.slack.presses(OWNER, question, 'Allow once');
    await said('Done.', 'C0ASK');
    expect(existsSync(join(world.workspace, 'a.txt'))).toBe(true);
    await waitFor(() => question.gone === true, { what: 'the question is gone' });
  });

  test('a question with choices stands in the channel for whom it is', async () => {
    const ask = { name: 'ask_user', arguments: { question: 'Tea?', choices: ['Green', 'Black'] } };
    world.model.reply({ calls: [ask] }, 'Black it is.');
    world.slack.sends(OWNER, 'C0TEA', `${BOT} order tea`);
    const question = await waitFor(() => world.slack.sentPosts.find(({ text }) => text.startsWith('Tea?')));
    expect(question.onlyFor).toBeUndefined();
    world.slack.presses(OWNER, question, 'Black');
    await said('Black it is.', 'C0TEA');
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('Black');
  });

  test('files come in with the token and by their ids', async () => {
    const file = world.slack.addFile('plan.txt', 'text/plain', Buffer.from('step one'));
    world.model.reply('Read.');
    world.slack.sends(OWNER, DIRECT, 'see', { files: [file] });
    await said('Read.');
    const path = /"plan\.txt" is at (\S+)/u.exec(lastText())?.[1] ?? '';
    expect(await readFile(path, 'utf8')).toBe('step one');
  });

  test('a page instead of a file is a failure that says what to do, and a file elsewhere is not fetched', async () => {
    const file = world.slack.addFile('secret.pdf', 'application/pdf', Buffer.from('%PDF'));
    const away = { url_private_download: 'http://127.0.0.1:9/file', url_private: 'http://127.0.0.1:9/file' };
    const elsewhere = world.slack.addFile('away.pdf', 'application/pdf', Buffer.from('%PDF'), away);
    world.slack.signIn = true;
    world.model.reply('I cannot read them.');
    world.slack.sends(OWNER, DIRECT, 'see', { files: [file, elsewhere] });
    await said('I cannot read them.');
    world.slack.signIn = false;
    expect(lastText()).toContain('a sign-in page instead of the file: the app needs the scope files:read');
    expect(lastText()).toContain('which is not Slack');
  });

  test('files go out as uploads', async () => {
    const write = { name: 'write_file', arguments: { path: 'out.csv', content: 'a,b\n' } };
    const send = { name: 'message', arguments: { text: 'The table.', media: ['out.csv'] } };
    world.model.reply({ calls: [write] }, { calls: [send] }, 'Sent.');
    world.slack.sends(OWNER, DIRECT, 'send me the table');
    await said('Sent.');
    const post = world.slack.sentPosts.find(({ files }) => files.length > 0);
    expect(post?.files[0]?.name).toBe('out.csv');
    expect(Buffer.from(post?.files[0]?.bytes ?? []).toString()).toBe('a,b\n');
  });

  test('the home of the app greets who may write, and shows a stranger nothing', async () => {
    world.slack.opensHome(STRANGER);
    world.slack.opensHome(FRIEND);
    world.slack.opensHome(OWNER);
    const home = (user: string): string => JSON.stringify(world.slack.homes.get(user) ?? null);
    await waitFor(() => world.slack.homes.size === 2);
    expect(home(OWNER)).toContain('/assistant restart');
    expect(home(FRIEND)).toContain('/assistant new');
    expect(home(FRIEND)).not.toContain('/assistant restart');
    expect(home(STRANGER)).toBe('null');
  });

  test('a stranger gets a pairing code in a direct chat and nothing in a channel', async () => {
    const before = world.model.requests.length;
    world.slack.sends(STRANGER, CHANNEL, `${BOT} hello?`);
    world.slack.commands(STRANGER, CHANNEL, 'status');
    world.slack.sends(STRANGER, 'D0STRANGER', 'hello?');
    const told = (): string | undefined => /this code: (\S{8})\./u.exec(postsIn(world, 'D0STRANGER').join())?.[1];
    const code = await waitFor(told, { what: 'a code' });
    world.slack.commands(OWNER, DIRECT, `pair approve ${code}`);
    await waitFor(() => postsIn(world).some((text) => text.includes('Sam')), { what: 'their name' });
    world.model.reply('Welcome.');
    world.slack.sends(STRANGER, 'D0STRANGER', 'now?');
    await said('Welcome.', 'D0STRANGER');
    expect(world.model.requests.length).toBe(before + 1);
    expect(postsIn(world, CHANNEL)).toEqual([]);
  });
});

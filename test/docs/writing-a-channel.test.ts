import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { TinCanServer, type Call, type Said, type User } from '../../examples/tin-can/server.ts';
import { runCommand } from '../support/command-run.ts';
import { filesOfPage, writePage } from '../support/page-package.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld, type World } from '../support/world.ts';
import { jsonBlocks } from './documents.ts';

const PAGE = 'writing-a-channel.md';
const TEXT = await readFile(fileURLToPath(new URL(`../../docs/${PAGE}`, import.meta.url)), 'utf8');
/** The entry that the page puts into the configuration. */
const ENTRY = JSON.parse(`{${jsonBlocks(TEXT)[0] ?? ''}}`) as {
  readonly channels: { readonly tincan: { readonly server: string; readonly token: string } };
};
const { token } = ENTRY.channels.tincan;

const ann: User = { id: 'ann', name: 'ann', bot: false };
const bob: User = { id: 'bob', name: 'bob', bot: false };

interface Scene extends AsyncDisposable {
  readonly world: World;
  readonly tincan: TinCanServer;
  /** What the person's chat shows, oldest first. */
  readonly seen: (person?: User) => readonly string[];
  readonly state: () => Promise<string | undefined>;
}

/** Does what the page says: an empty folder, its blocks, `assistant plugins add`, its entry; the assistant runs all the time. */
async function open(onCall: (call: Call) => boolean = () => false): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const tincan = stack.use(await TinCanServer.open({ token, onCall }));
  const world = stack.use(await startWorld());
  const folder = join(world.home, '..', 'tincan-channel');
  await writePage(PAGE, folder);
  const added = await runCommand(['plugins', 'add', folder, '--yes', '--home', world.home], world.home);
  expect(added.out).toContain('Added tincan-channel. It is running.');
  const config = join(world.home, 'config.json');
  const settings = JSON.parse(await readFile(config, 'utf8')) as { readonly channels: object };
  const entry = { ...ENTRY.channels.tincan, server: tincan.url };
  await writeFile(config, JSON.stringify({ ...settings, channels: { ...settings.channels, tincan: entry } }));
  const state = async (): Promise<string | undefined> =>
    (await world.assistant.call('info', {})).channels['tincan']?.state;
  await waitFor(async () => (await state()) === 'running', { what: 'the channel' });
  const owned = stack.move();
  return {
    world,
    tincan,
    seen: (person = ann) => tincan.shown.filter(({ chat }) => chat === person.id).map(({ text }) => text),
    state,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const outboxOf = (world: World) => world.assistant.call('outboxList', {});

describe('the channel of docs/writing-a-channel.md', () => {
  test('has all of its files on the page', async () => {
    const files = await filesOfPage(PAGE);
    expect([...files.keys()]).toEqual(['package.json', 'index.js', 'api.js', 'read.js', 'channel.js']);
    expect(ENTRY.channels.tincan.server).toBe('http://127.0.0.1:7700');
    const server = await readFile(fileURLToPath(new URL('../../examples/tin-can/server.ts', import.meta.url)), 'utf8');
    expect(server).toContain(`token: '${token}', port: 7700`);
  });

  test('is installed while the assistant runs, answers, and answers a repeated message once', async () => {
    await using scene = await open();
    const { world, tincan, seen } = scene;
    world.model.setHandler(({ view }) => `You said ${view.lastUserText.split('\n').at(-1)}.`);
    const said = tincan.say({ from: ann, text: 'hello' });
    await waitFor(() => seen().length === 1, { what: 'an answer' });
    expect(seen()).toEqual(['You said hello.']);
    expect(world.model.requests[0]?.view.lastUserText).toContain('(owner)');
    tincan.put({ message: said });
    tincan.say({ from: ann, text: 'and now?' });
    await waitFor(() => seen().length === 2, { what: 'the next answer' });
    expect(seen()).toEqual(['You said hello.', 'You said and now?.']);
    expect(world.model.requests).toHaveLength(2);
    expect(world.model.requests[1]?.view.lastUserText).not.toContain('hello');
    await waitFor(() => tincan.unconfirmed.length === 0, { what: 'a queue that is confirmed' });
  });

  test('sends a file', async () => {
    await using scene = await open();
    const { world, tincan, seen } = scene;
    await mkdir(world.workspace, { recursive: true });
    await writeFile(join(world.workspace, 'list.txt'), 'plums');
    world.model.reply(
      { calls: [{ name: 'message', arguments: { text: 'Here.', media: ['list.txt'] } }] },
      'There you are.',
    );
    tincan.say({ from: ann, text: 'send me the list' });
    await waitFor(() => seen().includes('There you are.'), { what: 'the end' });
    const [file] = tincan.shown.flatMap(({ files }) => files);
    expect(file?.name).toBe('list.txt');
    expect(Buffer.from(file?.data ?? '', 'base64').toString()).toBe('plums');
  });

  test('refuses a stranger with a pairing code, and hears them when the owner has let them in', async () => {
    await using scene = await open();
    const { world, tincan, seen } = scene;
    world.model.setHandler(() => 'Welcome.');
    tincan.say({ from: bob, text: 'the first words' });
    await waitFor(() => seen(bob).length === 1, { what: 'a code' });
    const code = /this code: (?<code>\S{8})\./u.exec(seen(bob)[0] ?? '')?.groups?.['code'] ?? '';
    expect(code).toHaveLength(8);
    expect(world.model.requests).toEqual([]);
    tincan.say({ from: ann, text: `/pair ${code}` });
    await waitFor(() => seen(bob).length === 2, { what: 'the news' });
    tincan.say({ from: bob, text: 'the second words' });
    await waitFor(() => seen(bob).includes('Welcome.'), { what: 'an answer' });
    expect(world.model.requests[0]?.view.lastUserText).toMatch(/\(trusted\)[^]*the second words/u);
  });

  test('keeps an update that it cannot read, tells the owner, and answers the others', async () => {
    await using scene = await open();
    const { world, tincan, seen } = scene;
    world.model.setHandler(() => 'Heard.');
    // The owner is told in the chat where they wrote last.
    tincan.say({ from: ann, text: 'hello' });
    await waitFor(() => seen().length === 1, { what: 'an answer' });
    tincan.put({ message: { nonsense: true } as unknown as Said });
    tincan.say({ from: ann, text: 'are you there?' });
    await waitFor(() => seen().filter((text) => text === 'Heard.').length === 2, { what: 'the next answer' });
    const kept = await waitFor(async () => (await readdir(join(world.home, 'quarantine')))[0], { what: 'a file' });
    expect(await readFile(join(world.home, 'quarantine', kept), 'utf8')).toContain('nonsense');
    await waitFor(() => seen().some((text) => text.includes('could not be processed')), { what: 'a notice' });
    await waitFor(() => tincan.unconfirmed.length === 0, { what: 'a queue that is confirmed' });
  });

  test('gives up a message that the platform will never take, and sends the next one', async () => {
    const refused = { left: 1 };
    await using scene = await open(({ name, response }) => {
      if (name !== 'POST /messages' || refused.left === 0) return false;
      refused.left -= 1;
      response.writeHead(413).end();
      return true;
    });
    const { world, tincan, seen } = scene;
    world.model.setHandler(() => 'Heard.');
    tincan.say({ from: ann, text: 'one' });
    await waitFor(async () => (await outboxOf(world))[0]?.state === 'dead', { what: 'a message that is given up' });
    expect(await outboxOf(world)).toMatchObject([{ channel: 'tincan', reason: 'the tin can answered 413' }]);
    tincan.say({ from: ann, text: 'two' });
    await waitFor(() => seen().includes('Heard.'), { what: 'the next answer' });
  });

  test('stops when its token is refused, says what to do, and its message waits', async () => {
    let isRefused = false;
    await using scene = await open(({ name, response }) => {
      if (name !== 'POST /messages' || !isRefused) return false;
      response.writeHead(401).end();
      return true;
    });
    const { world, tincan } = scene;
    world.model.setHandler(() => 'Heard.');
    isRefused = true;
    tincan.say({ from: ann, text: 'one' });
    await waitFor(async () => (await scene.state()) === 'failed', { what: 'a channel that stops' });
    expect(await outboxOf(world)).toMatchObject([{ channel: 'tincan', state: 'pending' }]);
  });
});

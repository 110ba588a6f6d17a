import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { putPlugin } from '../support/plugin-package.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld, type World } from '../support/world.ts';

const PACKAGE = fileURLToPath(new URL('../fixtures/plugins/paper-mail', import.meta.url));

async function install(world: World): Promise<void> {
  await putPlugin(world.home, { name: 'paper-mail', folder: PACKAGE });
}

const letters = (world: World): string => join(world.home, '..', 'letters');

async function write(world: World, name: string, from: string, text: string, group: object = {}): Promise<void> {
  await mkdir(join(letters(world), 'in'), { recursive: true });
  await writeFile(join(letters(world), 'in', `${name}.part`), JSON.stringify({ from, text, ...group }));
  await rename(join(letters(world), 'in', `${name}.part`), join(letters(world), 'in', `${name}.json`));
}

async function received(world: World): Promise<readonly string[]> {
  const folder = join(letters(world), 'out');
  const names = await readdir(folder).catch(() => []);
  return await Promise.all(
    names.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => readFile(join(folder, name), 'utf8')),
  );
}

/** Settings that name the folder of a home which is not there yet. */
function settings(): {
  readonly plugins: readonly string[];
  readonly channels: Record<string, Record<string, unknown>>;
} {
  return { plugins: ['paper-mail'], channels: { letters: { kind: 'paper-mail', allowFrom: ['ann'] } } };
}

describe('a channel of a plugin', () => {
  test('is one like any other: in the configuration, in the status, with people, delivery and the outbox', async () => {
    const config = settings();
    await using world = await startWorld({ config });
    expect((await world.assistant.call('info', {})).warnings).toContainEqual(
      expect.stringContaining('The plugin "paper-mail" does not run: there is no such package in '),
    );
    expect((await world.assistant.call('info', {})).channels['letters']?.detail).toContain(
      '"paper-mail" is not a kind of channel',
    );

    await install(world);
    await world.restart();
    expect((await world.assistant.call('info', {})).channels['letters']).toMatchObject({
      state: 'failed',
      detail: 'channels.letters.folder: expected the folder of the letters.',
    });

    Object.assign(config.channels['letters'] ?? {}, { folder: letters(world) });
    await world.restart();
    expect((await world.assistant.call('info', {})).channels['letters']).toMatchObject({
      kind: 'paper-mail',
      state: 'running',
    });
    expect(await world.assistant.call('pluginsList', {})).toEqual([
      { name: 'paper-mail', version: '1.2.0', state: 'running' },
    ]);

    world.model.reply('It is **sunny**.', 'return to sender');
    await write(world, '1', 'ann', 'how is the weather?');
    await waitFor(async () => (await received(world)).length === 1, { what: 'an answer' });
    expect(await received(world)).toEqual(['To ann\n\nIt is sunny.\n']);
    const asked = world.model.requests.at(-1)?.view;
    expect(asked?.system).toContain('Write plain text: your answer is printed.');
    expect(asked?.lastUserText).toContain('(owner)');

    await write(world, '2', 'bob', 'let me in');
    await waitFor(async () => (await received(world)).length === 2, { what: 'a code' });
    expect((await received(world))[1]).toMatch(/^To bob\n[^]*this code: \S{8}\./u);
    expect(world.model.requests).toHaveLength(1);

    await write(world, '3', 'ann', 'and now?');
    const outbox = () => world.assistant.call('outboxList', {});
    await waitFor(async () => (await outbox())[0]?.state === 'dead', { what: 'a dead letter' });
    expect(await outbox()).toMatchObject([
      { channel: 'letters', chat: 'ann', state: 'dead', reason: 'nobody lives there' },
    ]);
  });

  test('answers in a group whom it is meant by, and reads along what came before', async () => {
    const config = settings();
    const clock = new SkippingClock();
    await using world = await startWorld({ config, clock });
    await install(world);
    Object.assign(config.channels['letters'] ?? {}, { folder: letters(world), groups: { followUpSeconds: 10 } });
    await world.restart();
    world.model.setHandler(() => {
      clock.skip(11_000);
      return 'Plums.';
    });
    const club = 'garden';
    await write(world, '1', 'ann', 'we eat plums', { club });
    await write(world, '2', 'ann', 'what do we eat?', { club, mentioned: true });
    await waitFor(async () => (await received(world)).length === 1, { what: 'an answer' });
    expect(await received(world)).toEqual(['To garden\n\nPlums.\n']);
    expect(world.model.requests[0]?.view.lastUserText).toMatch(/we eat plums[^]*what do we eat\?/u);
    // The time without a mention begins with the answer.
    await write(world, '3', 'ann', 'and tomorrow?', { club });
    await waitFor(async () => (await received(world)).length === 2, { what: 'an answer to what follows' });
    expect(world.model.requests).toHaveLength(2);
  });

  test('that fails at a text shows it without markup, also when it has no way of its own to do so', async () => {
    const config = settings();
    Object.assign(config.channels['letters'] ?? {}, { folder: '' });
    await using world = await startWorld({ config });
    Object.assign(config.channels['letters'] ?? {}, { folder: letters(world) });
    await install(world);
    const file = join(world.home, 'plugins', 'paper-mail', 'index.js');
    const code = await readFile(file, 'utf8');
    const fails = "render(markdown) {\n    if (markdown.includes('blot')) throw new Error('the ink ran');";
    expect(code).toContain('render(markdown) {');
    await writeFile(file, code.replace('render(markdown) {', fails));
    await world.restart();
    world.model.reply('A **blot** in the answer.');
    await write(world, '1', 'ann', 'how is the weather?');
    await waitFor(async () => (await received(world)).length === 1, { timeoutMs: 40_000, what: 'the answer' });
    expect(await received(world)).toEqual(['To ann\n\nA **blot** in the answer.\n']);
  });

  test('is found and not run as long as the configuration does not list it', async () => {
    await using world = await startWorld();
    await install(world);
    await world.restart();
    expect(await world.assistant.call('pluginsList', {})).toEqual([
      { name: 'paper-mail', version: '1.2.0', state: 'not enabled' },
    ]);
    expect((await world.assistant.call('info', {})).channels).not.toHaveProperty('paper-mail');
  });
});

describe('a plugin', () => {
  test('that is broken costs nobody anything but a sentence', async () => {
    const config = { plugins: ['broken', 'outside', 'nothing'] };
    await using world = await startWorld({ config });
    const put = async (name: string, file: string, code: string): Promise<void> => {
      const folder = join(world.home, 'plugins', name);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'package.json'), JSON.stringify({ name, assistant: { plugin: file } }));
      await writeFile(join(folder, 'index.mjs'), code);
    };
    await put('broken', './index.mjs', 'throw new Error("no paper")');
    await put('outside', '../broken/index.mjs', '');
    await put('nothing', './index.mjs', 'export default { name: "nothing", channels: [{ kind: "x" }] }');
    await world.restart();
    const { warnings } = await world.assistant.call('info', {});
    expect(warnings).toContain('The plugin "broken" does not run: no paper.');
    expect(warnings).toContainEqual(expect.stringMatching(/^The plugin "outside" does not run: there is no such/u));
    expect(warnings).toContainEqual(
      expect.stringMatching(/^The plugin "nothing" does not run: channels\[0\]\.shows must be a text/u),
    );
  });
});

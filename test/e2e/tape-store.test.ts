import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const SESSION = `telegram:${OWNER}`;

/** A plugin that keeps tapes as files of a folder. There, `down` lets each call fail, `unsure` the next write after it took effect. */
const codeFor = (folder: string): string => `
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const FOLDER = ${JSON.stringify(folder)};
const pathOf = (key) => join(FOLDER, 'tapes', encodeURIComponent(key));
const contentOf = (key) => (existsSync(pathOf(key)) ? readFileSync(pathOf(key)) : Buffer.alloc(0));
function call(name) {
  mkdirSync(join(FOLDER, 'tapes'), { recursive: true });
  if (existsSync(join(FOLDER, 'down'))) throw new Error('no way to ' + name);
}
export default {
  name: 'attic',
  tapeStore: {
    async list() {
      call('list');
      const names = readdirSync(join(FOLDER, 'tapes'));
      return names.map((name) => ({ key: decodeURIComponent(name), size: statSync(join(FOLDER, 'tapes', name)).size }));
    },
    async read({ key, from, length }) {
      call('read');
      return contentOf(key).subarray(from, from + length);
    },
    async write({ key, at, bytes }) {
      call('write');
      const before = contentOf(key);
      if (at > before.length) throw new Error('a gap');
      writeFileSync(pathOf(key), Buffer.concat([before.subarray(0, at), bytes]));
      const unsure = join(FOLDER, 'unsure');
      if (!existsSync(unsure)) return;
      rmSync(unsure);
      throw new Error('the line broke');
    },
    async remove(key) {
      call('remove');
      rmSync(pathOf(key), { force: true });
    },
  },
};`;

async function install(home: string, code = codeFor(attic(home))): Promise<void> {
  const folder = join(home, 'plugins', 'attic');
  await mkdir(folder, { recursive: true });
  const facts = { name: 'attic', type: 'module', assistant: { plugin: './index.js' } };
  await writeFile(join(folder, 'package.json'), JSON.stringify(facts));
  await writeFile(join(folder, 'index.js'), code);
}

const attic = (home: string): string => join(home, '..', 'attic');
const sign = (world: World, name: string): string => join(attic(world.home), name);
const stored = async (world: World, key = SESSION): Promise<string> =>
  await readFile(join(attic(world.home), 'tapes', encodeURIComponent(key)), 'utf8');
const here = async (home: string, key = SESSION): Promise<string> =>
  await readFile(join(home, 'sessions', tapeName(key)), 'utf8');

async function withAttic(): Promise<World> {
  return await startWorld({
    config: { plugins: ['attic'] },
    furnish: async (home) => {
      await install(home);
      await mkdir(attic(home));
    },
  });
}

/** Says it in the owner's chat and resolves with the reply. */
async function says(world: World, text: string): Promise<string | undefined> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `the reply to ${text}` });
  return chatOf(world).at(-1);
}

/** Waits until the store has what the home has. */
async function isThere(world: World): Promise<void> {
  await waitFor(async () => (await stored(world)) === (await here(world.home)), { what: 'the same tape in the store' });
}

describe('a store of tapes that a plugin brings', () => {
  test('has each conversation, and another machine that has nothing else goes on with it', async () => {
    await using world = await withAttic();
    world.model.reply('A good number.', 'Seven.');
    expect(await says(world, 'my number is 7')).toBe('A good number.');
    await isThere(world);
    const other = join(world.home, '..', 'other');
    await mkdir(join(other, 'workspace'), { recursive: true, mode: 0o700 });
    await cp(join(world.home, 'config.json'), join(other, 'config.json'));
    await cp(join(world.home, 'plugins'), join(other, 'plugins'), { recursive: true });
    await world.restart(other);
    expect(await says(world, 'what was my number?')).toBe('Seven.');
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('my number is 7');
    await waitFor(async () => (await stored(world)) === (await here(other)), { what: 'both turns in the store' });

    // The first machine again: it lacks the second turn.
    world.model.reply('It still is seven.');
    await world.restart();
    await says(world, 'and now?');
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('what was my number?');
  });

  test('that takes no writes lets everything wait, which is said once, and nothing is answered twice or lost', async () => {
    await using world = await withAttic();
    // The model is asked again, because its first answer could not be written.
    world.model.reply('one', 'two', 'two');
    await says(world, 'first');
    await isThere(world);
    await writeFile(sign(world, 'down'), '');
    world.telegram.userSays(OWNER, 'second');
    await waitFor(() => chatOf(world).some((text) => text.includes('⚠')), { what: 'the notice' });
    expect(chatOf(world).slice(1)).toEqual([
      '⚠ The store that conversations are kept in too does not take writes (the plugin "attic" failed to write: no way to write). ' +
        'Look after what the plugin writes to. What was not kept there is written again when it works. ' +
        'What you write stays with the chat platform or in the inbox, and is answered as soon as the store can be written again.',
    ]);
    expect((await world.assistant.call('info', {})).warnings).toContainEqual(
      expect.stringContaining('"attic" failed to write'),
    );
    await rm(sign(world, 'down'));
    await waitFor(() => chatOf(world).includes('two'), { what: 'the answer' });
    await waitFor(
      () => chatOf(world).some((text) => text.startsWith('The store of the conversations can be written')),
      {
        what: 'the notice that all is well',
      },
    );
    expect(chatOf(world).filter((text) => text === 'two')).toHaveLength(1);
    await isThere(world);
  });

  test('that does not say whether it wrote has no line twice', async () => {
    await using world = await withAttic();
    // The model is asked again where its first answer was the write that failed.
    world.model.reply('one', 'two', 'two');
    await says(world, 'first');
    await isThere(world);
    await writeFile(sign(world, 'unsure'), '');
    await says(world, 'second');
    await waitFor(() => chatOf(world).includes('two'), { what: 'the answer' });
    await isThere(world);
    const lines = (await stored(world)).split('\n');
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.filter((line) => line.includes('"second"'))).toHaveLength(1);
  });

  test('that cannot be read at the start is waited for, because conversations would begin anew', async () => {
    await using world = await withAttic();
    world.model.reply('one', 'two');
    await says(world, 'first');
    await isThere(world);
    await writeFile(sign(world, 'down'), '');
    const restarted = world.restart();
    await waitFor(() => chatOf(world).some((text) => text.includes('I cannot start before that')), {
      what: 'the notice',
    });
    world.telegram.userSays(OWNER, 'second');
    await rm(sign(world, 'down'));
    await restarted;
    await waitFor(() => chatOf(world).includes('two'), { what: 'the answer' });
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('first');
  });

  test('gets what was said before it was there, and loses what is deleted', async () => {
    await using world = await startWorld({ furnish: (home) => mkdir(attic(home)) });
    world.model.reply('one', 'two');
    await says(world, 'long ago');
    await world.assistant.run('elsewhere', { session: 'aside' });
    await install(world.home);
    const config: Record<string, unknown> = JSON.parse(await readFile(join(world.home, 'config.json'), 'utf8'));
    await writeFile(join(world.home, 'config.json'), JSON.stringify({ ...config, plugins: ['attic'] }));
    await world.assistant.reload();
    expect((await world.assistant.call('info', {})).warnings).toContain(
      'Conversations are kept in the store of the plugin "attic" after the next start: /restart.',
    );
    await world.restart();
    await isThere(world);
    expect(await stored(world)).toContain('long ago');
    const names = (): Promise<readonly string[]> => readdir(join(attic(world.home), 'tapes'));
    await waitFor(async () => (await names()).length === 2, { what: 'both conversations' });
    const aside = (await names()).map(decodeURIComponent).find((name) => name !== SESSION) ?? '';
    await world.assistant.call('sessionsDelete', { session: aside });
    expect(await names()).toEqual([encodeURIComponent(SESSION)]);
    await world.restart();
    expect((await world.assistant.call('sessionsList', { limit: 10 })).sessions).toHaveLength(1);
  });

  test('forgets what the owner wants forgotten, and does not bring it back', async () => {
    await using world = await withAttic();
    world.model.reply('one');
    await says(world, 'the code is wombat99');
    await isThere(world);
    await world.assistant.call('memoryForget', { words: 'wombat99', erase: true });
    await world.restart();
    await isThere(world);
    expect(await stored(world)).toContain('[forgotten]');
    expect(await stored(world)).not.toContain('wombat99');
    await world.restart();
    expect(await here(world.home)).not.toContain('wombat99');
  });

  test('whose tape is another than that of the home has the last word, and what was here is kept', async () => {
    await using world = await withAttic();
    world.model.reply('one', 'two', 'three');
    await says(world, 'first');
    await isThere(world);
    await world.assistant[Symbol.asyncDispose]();
    const ours = await here(world.home);
    await writeFile(
      join(world.home, 'sessions', tapeName(SESSION)),
      ours.replace('first', 'other').slice(0, -1) + ' \n',
    );
    await world.restart();
    expect(await here(world.home)).toBe(ours);
    expect(await readdir(join(world.home, 'quarantine'))).toContainEqual(expect.stringContaining('not-in-store'));
  });

  test('is refused as a whole where a function is missing, with a sentence', async () => {
    const code = "export default { name: 'attic', tapeStore: { list() {}, read() {}, write() {} } };";
    await using world = await startWorld({
      config: { plugins: ['attic'] },
      furnish: (home) => install(home, code),
    });
    expect((await world.assistant.call('info', {})).warnings).toContain(
      'The plugin "attic" does not run: tapeStore.remove must be a function, but it is missing.',
    );
  });
});

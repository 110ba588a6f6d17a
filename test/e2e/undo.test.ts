import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

async function say(world: World, text: string, chat = OWNER): Promise<string> {
  const before = chatOf(world, chat).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).length > before, { what: `a reply to ${text}` });
  return chatOf(world, chat)[before] ?? '';
}

/** The conversation as the model last read it. */
const lastRequest = (world: World): string => JSON.stringify(world.model.requests.at(-1)?.body['messages']);

type Args = Readonly<Record<string, unknown>>;
const calling = (name: string, args: Args): { calls: { name: string; arguments: Args }[] } => ({
  calls: [{ name, arguments: args }],
});
const edit = (path: string, oldText: string, newText: string): ReturnType<typeof calling> =>
  calling('edit_file', { path, oldText, newText });
const write = (path: string, content: string): ReturnType<typeof calling> => calling('write_file', { path, content });

describe('/undo in a chat', () => {
  test('puts files back byte for byte, and the next request knows nothing of the exchange', async () => {
    await using world = await startWorld();
    const path = join(world.workspace, 'list.md');
    const bytes = Buffer.from('milk\r\nbread\r\n');
    await writeFile(path, bytes);
    world.model.reply('Hello.', edit('list.md', 'milk', 'oat milk'), write('new.md', 'x'), 'Changed it.', 'Sure.');
    await say(world, 'hi there');
    await say(world, 'no dairy please');
    expect(await readFile(path, 'utf8')).toBe('oat milk\r\nbread\r\n');
    const reply = await say(world, '/undo yes');
    expect(reply).toMatch(/“no dairy please”.*list\.md: restored.*new\.md: removed/su);
    expect((await readFile(path)).equals(bytes)).toBe(true);
    expect(await readdir(world.workspace)).not.toContain('new.md');
    await say(world, 'still there?');
    expect(lastRequest(world)).toContain('hi there');
    expect(lastRequest(world)).not.toMatch(/no dairy|oat milk|Changed it|new\.md|\/undo/u);
  });

  test('twice, with a restart between, takes two exchanges back', async () => {
    await using world = await startWorld();
    const path = join(world.workspace, 'a.md');
    await writeFile(path, 'zero');
    world.model.reply(write('a.md', 'one'), 'First.', write('a.md', 'two'), 'Second.', 'Fresh.');
    await say(world, 'write one');
    await say(world, 'write two');
    expect(await say(world, '/undo yes')).toContain('“write two”');
    expect(await readFile(path, 'utf8')).toBe('one');
    await world.restart();
    expect(await say(world, '/undo yes')).toContain('“write one”');
    expect(await readFile(path, 'utf8')).toBe('zero');
    expect(await say(world, '/undo yes')).toBe('There is nothing to undo here.');
    await say(world, 'hello');
    expect(lastRequest(world)).not.toMatch(/write one|write two|First|Second/u);
  });

  test('leaves a file that somebody changed since, brings a deleted one back, and tells of commands', async () => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'full' } } } });
    const at = (name: string): string => join(world.workspace, name);
    for (const name of ['mine.md', 'gone.md']) await writeFile(at(name), 'old');
    const command = calling('exec', { command: 'echo made > made.txt' });
    world.model.reply(write('mine.md', 'new'), write('gone.md', 'new'), command, 'Done.');
    await say(world, 'tidy up');
    await writeFile(at('mine.md'), 'yours');
    await rm(at('gone.md'));
    const reply = await say(world, '/undo yes');
    expect(reply).toMatch(/mine\.md: not changed: it changed after I wrote it/u);
    expect(reply).toMatch(/gone\.md: restored/u);
    expect(reply).toMatch(/cannot be undone:\s.*exec echo made > made\.txt/su);
    expect(await readFile(at('mine.md'), 'utf8')).toBe('yours');
    expect(await readFile(at('gone.md'), 'utf8')).toBe('old');
    expect(await readFile(at('made.txt'), 'utf8')).toBe('made\n');
  });

  test('does not reach across /new', async () => {
    await using world = await startWorld();
    world.model.reply(write('a.md', 'x'), 'Done.');
    await say(world, 'write it');
    await say(world, '/new');
    expect(await say(world, '/undo yes')).toContain('since this conversation was started anew');
    expect(await readFile(join(world.workspace, 'a.md'), 'utf8')).toBe('x');
  });

  test('waits for the running turn and takes that one back', async () => {
    await using world = await startWorld();
    world.model.reply('Hello.', { ...write('a.md', 'x'), delayMs: 200 }, 'Done.');
    await say(world, 'hi');
    world.telegram.userSays(OWNER, 'write it');
    await waitFor(() => world.model.inFlight === 1);
    world.telegram.userSays(OWNER, '/undo yes');
    await waitFor(() => chatOf(world).length === 3);
    expect(chatOf(world)[1]).toBe('Done.');
    expect(chatOf(world)[2]).toContain('“write it”');
    expect(await readdir(world.workspace)).not.toContain('a.md');
  });

  test('shows what it would do with buttons, and does it after a yes', async () => {
    await using world = await startWorld();
    world.model.reply(write('a.md', 'x'), 'Done.');
    await say(world, 'write it');
    const question = await say(world, '/undo');
    expect(question).toMatch(/^Undo this\?.*“write it” and my answer leave.*a\.md: will be removed/su);
    const code = /\/approve (\w+)/u.exec(question)?.[1] ?? '';
    expect(await readFile(join(world.workspace, 'a.md'), 'utf8')).toBe('x');
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await waitFor(() => chatOf(world).some((text) => /^Undone: “write it”.*a\.md: removed/su.test(text)));
    expect(await readdir(world.workspace)).not.toContain('a.md');
  });

  test('takes back the whole turn: files, facts, jobs, tasks of the heartbeat and skills', async () => {
    await using world = await startWorld({ config: { agent: { timezone: 'Europe/Vienna' } } });
    const at = (name: string): string => join(world.workspace, name);
    const read = (name: string): Promise<string> => readFile(at(name), 'utf8').catch(() => 'no file');
    const files = ['USER.md', 'SOUL.md', 'HEARTBEAT.md', 'memory/MEMORY.md', 'skills/tea/SKILL.md'];
    await writeFile(at('USER.md'), 'Likes tea.\n');
    await writeFile(at('HEARTBEAT.md'), '- water the plants\n');
    const before = await Promise.all(files.map(read));
    const skill = '---\nname: tea\ndescription: Makes tea.\n---\nBoil water.\n';
    const fact = (text: string): ReturnType<typeof calling> => calling('memory_write', { fact: text });
    const cron = (args: Args): ReturnType<typeof calling> => calling('cron', args);
    world.model.reply(
      cron({ action: 'add', when: '0 9 * * *', text: 'Water the plants' }),
      'Set.',
      write('USER.md', 'Likes coffee.\n'),
      write('SOUL.md', 'Brief.\n'),
      edit('HEARTBEAT.md', '- water the plants\n', ''),
      write('skills/tea/SKILL.md', skill),
      fact('Drinks coffee'),
      fact('Wakes at six'),
      cron({ action: 'disable', job: 'water-the-plants' }),
      cron({ action: 'add', when: '0 6 * * *', text: 'Wake up' }),
      'All done.',
    );
    await say(world, 'remind me of the plants');
    const jobs = (): Promise<unknown> => world.assistant.call('cron', { action: 'list' }).then((all) => all.jobs);
    const planned = await jobs();
    await say(world, 'change everything');
    expect(await Promise.all(files.map(read))).not.toContain('no file');
    expect(await jobs()).toHaveLength(2);
    const reply = await say(world, '/undo yes');
    expect(await Promise.all(files.map(read))).toEqual(before);
    expect(await jobs()).toEqual(planned);
    expect(await readdir(world.workspace)).not.toContain('skills');
    expect(reply).toContain('Drinks coffee: removed, because it was new');
    expect(reply).toMatch(/Scheduled jobs:\s.*water-the-plants: restored\s.*wake-up: removed/su);
    expect(reply).not.toContain('cannot be undone');
  });

  test('leaves and names a fact and a job that changed since, and takes the fact beside it out', async () => {
    await using world = await startWorld({ config: { agent: { timezone: 'Europe/Vienna' } } });
    const memory = join(world.workspace, 'memory', 'MEMORY.md');
    world.model.reply(
      calling('memory_write', { fact: 'Drinks coffee' }),
      calling('memory_write', { fact: 'Wakes at six' }),
      calling('cron', { action: 'add', when: '0 6 * * *', text: 'Wake up' }),
      calling('message', { text: 'By the way.' }),
      'Done.',
    );
    world.telegram.userSays(OWNER, 'remember it');
    await waitFor(() => chatOf(world).length === 2);
    await writeFile(memory, (await readFile(memory, 'utf8')).replace('at six', 'at seven'));
    await world.assistant.call('cron', { action: 'disable', id: 'wake-up' });
    const reply = await say(world, '/undo yes');
    expect(reply).toContain('Wakes at six: not changed: it was changed or removed since');
    expect(reply).toContain('Drinks coffee: removed, because it was new');
    expect(reply).toContain('wake-up: not changed: it was changed since');
    expect(reply).toMatch(/Messages that I sent stay.*message By the way\./su);
    expect(await readFile(memory, 'utf8')).toBe('# Memory\n\n- Wakes at seven\n');
  });

  test('is the owner’s alone', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } } },
    });
    expect(await say(world, '/undo', 43)).toBe('/undo is for the owner only.');
  });
});

describe('the tape', () => {
  test('a handoff by the model: the running turn stays whole, what was before is the summary', async () => {
    await using world = await startWorld();
    const handoff = calling('tape', { action: 'handoff', text: 'They like tea.' });
    world.model.reply('Noted.', handoff, 'Handed over.', 'Tea.');
    await say(world, 'I like green tea');
    await say(world, 'sum up');
    expect(lastRequest(world)).toMatch(/They like tea\..*sum up/su);
    expect(lastRequest(world)).not.toContain('green tea');
    await say(world, 'what do I like?');
    expect(lastRequest(world)).toMatch(/They like tea\..*sum up.*Handed over.*what do I like/su);
    expect(await say(world, '/tape anchors')).toContain('handoff: They like tea.');
    expect(await say(world, '/tape search GREEN')).toContain('user: I like green tea');
  });

  test('a reset by the model leaves the running turn whole and nothing before it', async () => {
    await using world = await startWorld();
    world.model.reply('Noted.', calling('tape', { action: 'reset' }), 'Forgotten.', 'No idea.');
    await say(world, 'I like green tea');
    await say(world, 'forget all that');
    expect(lastRequest(world)).toContain('forget all that');
    expect(lastRequest(world)).not.toContain('green tea');
    await say(world, 'what do I like?');
    expect(lastRequest(world)).toMatch(/forget all that.*Forgotten.*what do I like/su);
    expect(await say(world, '/undo yes')).toContain('“what do I like?”');
    expect(await say(world, '/undo yes')).toContain('“forget all that”');
    expect(await say(world, '/undo yes')).toContain('since this conversation was started anew');
  });

  test('/tape tells what is on record', async () => {
    await using world = await startWorld();
    world.model.reply('Hello.');
    await say(world, 'hi');
    expect(await say(world, '/tape')).toMatch(/2 messages in 1 turn.*In the conversation now: 2 messages/su);
  });
});

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

/** A picture of one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

function sends(world: World, content: Readonly<Record<string, unknown>>, chat = OWNER): void {
  world.telegram.userSays(chat, '', { text: undefined, ...content });
}

const answered = (world: World, count: number): Promise<unknown> =>
  waitFor(() => chatOf(world).length >= count, { what: `${count} replies` });
const lastBody = (world: World): string => JSON.stringify(world.model.requests.at(-1)?.body);
const lastText = (world: World): string => world.model.requests.at(-1)?.view.lastUserText ?? '';

describe('what comes with a message', () => {
  test('a photo is shown to the model, its caption is what was said', async () => {
    await using world = await startWorld();
    world.model.reply('A dot.');
    world.telegram.addFile('p2', PNG, 'photos/p2.jpg');
    const photo = [
      { file_id: 'p1', file_size: 10 },
      { file_id: 'p2', file_size: PNG.length },
    ];
    sends(world, { photo, caption: 'what is this?' });
    await answered(world, 1);
    expect(lastBody(world)).toContain(`data:image/png;base64,${PNG.toString('base64')}`);
    expect(lastText(world)).toContain('what is this?');
  });

  test('the path of a photo is told, so that tools can work on the picture itself', async () => {
    await using world = await startWorld();
    let path = '';
    world.model.setHandler(({ view }) => {
      if (view.toolResults.length > 0) return 'A dot, from the file.';
      path = /attached: "image" is at (\S+\.jpg)/u.exec(view.lastUserText)?.[1] ?? '';
      return { calls: [{ name: 'read_file', arguments: { path } }] };
    });
    world.telegram.addFile('p2', PNG, 'photos/p2.jpg');
    sends(world, { photo: [{ file_id: 'p2', file_size: PNG.length }], caption: 'what is this?' });
    await answered(world, 1);
    expect(chatOf(world)).toEqual(['A dot, from the file.']);
    expect(await readFile(path)).toEqual(PNG);
    expect(lastBody(world)).toContain('The image is shown.');
  });

  test.each([
    [{ file_name: 'README' }, /-README\.txt$/u],
    [{ file_name: 'README', mime_type: 'text/plain' }, /-README\.txt$/u],
    [{ file_name: 'notes 2.1', mime_type: 'text/markdown' }, /-notes_2\.1\.md$/u],
    [{ file_name: 'table', mime_type: 'text/csv' }, /-table\.csv$/u],
    [{ mime_type: 'application/json' }, /-document\.json$/u],
    [{ file_name: 'app.log', mime_type: 'application/octet-stream' }, /-app\.log$/u],
    [{ file_name: 'main', mime_type: 'text/x-python' }, /-main\.py$/u],
    [{}, /-document\.txt$/u],
  ])('a text is kept under a name that says so: %j', async (about, name) => {
    await using world = await startWorld();
    world.model.reply('Read.');
    world.telegram.addFile('t1', Buffer.from('some words\n'), 'documents/file_1');
    sends(world, { document: { file_id: 't1', ...about }, caption: 'see' });
    await answered(world, 1);
    const [, path = ''] = /attached: ".*?" is at (\S+)/u.exec(lastText(world)) ?? [];
    expect(path).toMatch(name);
    expect(await readFile(path, 'utf8')).toBe('some words\n');
  });

  test('a document is kept where the tools of this session can read it, with its path told', async () => {
    await using world = await startWorld();
    world.telegram.addFile('d1', Buffer.from('a,b\n1,2\n'), 'documents/file_1.csv');
    let path = '';
    world.model.setHandler(({ view }) => {
      if (view.toolResults.length > 0) return 'Two columns.';
      path = /attached: "my .*? is at (\S+)/u.exec(view.lastUserText)?.[1] ?? '';
      return { calls: [{ name: 'read_file', arguments: { path } }] };
    });
    sends(world, { document: { file_id: 'd1', file_name: 'my ../data.csv', mime_type: 'text/csv' }, caption: 'see' });
    await answered(world, 1);
    expect(chatOf(world)).toEqual(['Two columns.']);
    expect(path.startsWith(`${world.home}/media/`)).toBe(true);
    expect(await readFile(path, 'utf8')).toBe('a,b\n1,2\n');
    expect(lastBody(world)).toContain('1,2');
  });

  test('a file that cannot be had takes no message with it', async () => {
    await using world = await startWorld();
    world.model.reply('No file.', 'Too large.');
    sends(world, { document: { file_id: 'gone', file_name: 'x.pdf' }, caption: 'read this' });
    await answered(world, 1);
    expect(lastText(world)).toMatch(/"x\.pdf" could not be fetched: Telegram answered 400[^]*read this/u);
    sends(world, { video: { file_id: 'big', file_size: 30 * 1024 * 1024 }, caption: 'and this' });
    await answered(world, 2);
    expect(lastText(world)).toContain('[video has 30 MB; bots get files up to 20 MB]');
  });

  test('of strangers is not fetched', async () => {
    await using world = await startWorld();
    world.telegram.addFile('p1', PNG);
    sends(world, { photo: [{ file_id: 'p1' }], from: { id: 99 } }, 99);
    await waitFor(() => chatOf(world, 99).length === 1);
    expect(world.telegram.calls.filter(({ method }) => method === 'getFile')).toEqual([]);
  });

  test.each([
    ['a place', { location: { latitude: 52.5, longitude: 13.4 } }, '[location: 52.5, 13.4]'],
    ['a person', { contact: { first_name: 'Ann', last_name: 'B', phone_number: '+49 1' } }, '[contact: Ann B +49 1]'],
    ['a sticker', { sticker: { emoji: '👍' } }, '[sticker 👍]'],
    ['a poll', { poll: { question: 'Tea?', options: [{ text: 'yes' }, { text: 'no' }] } }, '[poll: Tea? (yes / no)]'],
  ])('%s is put into words', async (_, content, words) => {
    await using world = await startWorld();
    world.model.reply('ok');
    sends(world, content);
    await answered(world, 1);
    expect(lastText(world)).toContain(words);
  });

  test('an album is one message', async () => {
    await using world = await startWorld();
    world.model.reply('Two dots.');
    for (const id of ['a', 'b']) {
      world.telegram.addFile(id, PNG, `photos/${id}.jpg`);
      sends(world, { photo: [{ file_id: id }], media_group_id: 'g', ...(id === 'a' ? { caption: 'both' } : {}) });
    }
    await answered(world, 1);
    expect(world.model.requests).toHaveLength(1);
    expect(lastBody(world).split(PNG.toString('base64'))).toHaveLength(3);
  });
});

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Row } from '../../../src/core/gateway/http/wire.ts';
import { connectAssistant } from '../../../src/core/gateway/control.ts';
import { systemClock } from '../../../src/core/util/clock.ts';
import { CommandLine } from '../../cli/command-line.ts';
import { waitFor } from '../../support/wait.ts';
import { startWorld, type World } from '../../support/world.ts';
import { newId, pageClient, type PageClient } from './page-client.ts';

let world: World;
let page: PageClient;

beforeAll(async () => {
  world = await startWorld();
  page = await pageClient(world);
});

afterAll(() => world[Symbol.asyncDispose]());

describe('who comes back', () => {
  test('gets the messages that were missed, once, and what follows', async () => {
    using first = await page.follow();
    world.model.reply('One.', 'Two.', 'Three.');
    await page.say('missed', 'first');
    await first.answer('missed', 'One.');
    const { cursor } = first;
    await page.say('missed', 'second');
    await first.answer('missed', 'Two.');
    using second = await page.follow(cursor);
    expect(second.of('hello')[0]).toMatchObject({ cursor, main: 'web:main' });
    expect(second.rows.map(({ direction, text }) => [direction, text])).toEqual([
      ['in', 'second'],
      ['out', 'Two.'],
    ]);
    await page.say('missed', 'third');
    await second.answer('missed', 'Three.');
    expect(second.rows.map(({ text }) => text)).toEqual(['second', 'Two.', 'third', 'Three.']);
    await second.end('Three.');
    using third = await page.follow(second.cursor);
    expect(third.frames.map(({ type }) => type)).toEqual(['hello', 'turns', 'questions']);
  });

  test.each(['', 'x', '1', '9999999.9999999', '1.-1'])(
    'with a place that there is none (%j) is told of a gap',
    async (after) => {
      using followed = await page.follow(after);
      expect(followed.frames.map(({ type }) => type)).toEqual(['hello', 'gap', 'turns', 'questions']);
      expect(followed.of('gap')[0]?.cursor).toMatch(/^\d+\.\d+$/u);
    },
  );
});

describe('a change that the command line makes', () => {
  async function command(...words: readonly string[]): Promise<void> {
    const line = new CommandLine({ home: world.home });
    line.connect = (path) => connectAssistant(path, systemClock);
    expect(await line.run(...words)).toBe(0);
  }

  test('is told to who watches, by its subject, and what only reads is not', async () => {
    using followed = await page.follow();
    const changed = (): readonly string[] =>
      followed.of('changed').flatMap(({ what }) => (what === 'schedule' || what === 'skills' ? [what] : []));
    await command('cron', 'list');
    await command('cron', 'add', 'in 5 hours', 'Cake.', '--chat', 'web:cake');
    await waitFor(() => changed().length > 0, { what: 'the change of the schedule' });
    const folder = join(world.home, 'brought', 'cakes');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'SKILL.md'), '---\nname: cakes\ndescription: About cakes.\n---\nBake.\n');
    await command('skills', 'add', folder, '--yes');
    await waitFor(() => changed().length > 1, { what: 'the change of the skills' });
    await command('skills', 'remove', 'cakes', '--yes');
    await waitFor(() => changed().length > 2, { what: 'the next change of the skills' });
    expect(changed()).toEqual(['schedule', 'skills', 'skills']);
  });
});

describe('a turn that runs', () => {
  test('is shown to who comes in the middle of it, as far as it is, and then as it grows', async () => {
    world.model.reply({
      reasoning: 'I think. ',
      text: 'Piece by piece it comes to its end.',
      chunkSize: 6,
      eventDelayMs: 60,
    });
    using first = await page.follow();
    await page.say('growing', 'Tell me');
    await waitFor(() => first.of('live').some(({ event }) => event.type === 'text'), { what: 'the first text' });
    using second = await page.follow();
    const [{ turns } = { turns: [] }] = second.of('turns');
    const begun = { kind: 'text', text: expect.stringMatching(/^Piece/u) };
    const segments = [{ kind: 'reasoning', text: 'I think. ' }, begun];
    expect(turns).toMatchObject([{ session: 'web:growing', since: 0, segments }]);
    const said = turns[0]?.segments.at(-1);
    await second.answer('growing', 'Piece by piece it comes to its end.');
    const texts = second.of('live').flatMap(({ event }) => (event.type === 'text' ? [event.text] : []));
    expect(texts.every((text) => text.startsWith(said?.kind === 'text' ? said.text : 'x'))).toBe(true);
    // Both tabs saw the same.
    await first.answer('growing', 'Piece by piece it comes to its end.');
    const ends = [first, second].map((tab) => tab.end('Piece by piece it comes to its end.'));
    expect(await ends[0]).toEqual(await ends[1]);
    expect(second.rows.every((row) => first.rows.some(({ id }) => id === row.id))).toBe(true);
  });

  test('names the tools that it uses, for as long as it runs', async () => {
    world.model.reply(
      { calls: [{ name: 'list_dir', arguments: { path: '.' } }] },
      { text: 'Nothing there.', delayMs: 400 },
    );
    using first = await page.follow();
    await page.say('tools', 'Look');
    await waitFor(() => first.of('live').some(({ event }) => event.type === 'tool-end'), { what: 'the tool' });
    using second = await page.follow();
    expect(second.of('turns')[0]?.turns).toMatchObject([
      {
        session: 'web:tools',
        segments: [{ kind: 'tool', tool: { name: 'list_dir', state: 'done', durationMs: expect.any(Number) } }],
      },
    ]);
    await second.end('Nothing there.');
    using third = await page.follow();
    expect(third.of('turns')[0]?.turns).toEqual([]);
  });

  test('ends with what it left, the very items of its history', async () => {
    world.model.reply(
      { reasoning: 'Where?', text: 'I look.', calls: [{ name: 'list_dir', arguments: { path: '.' } }], delayMs: 200 },
      'There.',
      'Gladly.',
    );
    using followed = await page.follow();
    const ends = () =>
      followed
        .of('live')
        .flatMap(({ event }) => (event.type === 'turn-end' && event.sessionKey === 'web:left' ? [event] : []));
    await page.say('left', 'Look');
    await page.say('left', 'And be quick');
    await waitFor(() => ends().length === 1, { what: 'the end of the first turn' });
    await page.say('left', 'Thank you');
    await waitFor(() => ends().length === 2, { what: 'the end of the second turn' });
    const { items } = await page.history('web:left');
    expect(ends().map((end) => end.items?.map(({ kind }) => kind))).toEqual([
      ['user', 'reasoning', 'assistant', 'call', 'result', 'user', 'assistant'],
      ['user', 'assistant'],
    ]);
    expect(ends().flatMap((end) => end.items ?? [])).toEqual(items);
    await page.say('left', '/usage');
    await waitFor(() => ends().length === 3, { what: 'the end of the command' });
    expect(ends()[2]?.items).toEqual([]);
  });

  test('that left more than a frame should have ends without it', async () => {
    const note = 'x'.repeat(19_000);
    const calls = Array.from({ length: 11 }, (_, n) => ({ name: 'read_file', arguments: { path: `${n}.txt`, note } }));
    world.model.reply({ calls }, 'Enough.');
    using followed = await page.follow();
    await page.say('large', 'Read much');
    expect(await followed.end('Enough.')).not.toHaveProperty('items');
    expect((await page.history('web:large')).items.at(-1)).toMatchObject({ text: 'Enough.' });
  });

  test('of another channel is seen too', async () => {
    world.model.reply('To the phone.');
    using followed = await page.follow();
    world.telegram.userSays(42, 'from the phone');
    await followed.answer('42', 'To the phone.');
    expect(followed.rows[0]).toMatchObject({ direction: 'in', channel: 'telegram', text: 'from the phone' });
  });

  test('goes on after a restart in its middle, and its answer is among the rows', async () => {
    using before = await page.follow();
    const asked = world.model.requests.length;
    world.model.reply({ text: 'Never heard. '.repeat(20), fault: 'hang-mid', afterEvents: 5 }, 'After the restart.');
    const message = { id: newId(), chat: 'restart', text: 'Survive' };
    await page.post('/api/messages', message);
    await waitFor(() => before.of('live').some(({ event }) => event.type === 'text'), { what: 'the first text' });
    expect(world.model.requests.length).toBe(asked + 1);
    await world.restart();
    await waitFor(() => before.socket.readyState === before.socket.CLOSED, { what: 'the end of the connection' });
    page = await pageClient(world);
    expect((await page.post('/api/messages', message)).body['accepted']).toBe('duplicate');
    using after = await page.follow(before.cursor);
    expect((await after.answer('restart', 'After the restart.')).session).toBe('web:restart');
    expect(world.model.requests.length).toBe(asked + 2);
  });
});

test('a login that was ended by logging out stays ended after a restart, and another one goes on', async () => {
  const [kept, ended] = [await pageClient(world), await pageClient(world)];
  const headers = { ...ended.headers, 'Content-Type': 'application/json' };
  const left = await fetch(`${ended.address}/logout`, { method: 'POST', headers, body: '{}' });
  expect(left.status).toBe(204);
  await world.restart();
  page = await pageClient(world);
  // The name of a cookie holds the port, which is another one now.
  const name = page.headers['Cookie']?.split('=')[0];
  const asked = async (before: PageClient): Promise<number> => {
    const cookie = `${name}=${before.headers['Cookie']?.split('=')[1]}`;
    const path = `${page.address}/api/media/none`;
    const headers = { ...before.headers, Cookie: cookie, Origin: page.address };
    return (await fetch(path, { headers })).status;
  };
  expect([await asked(kept), await asked(ended)]).toEqual([404, 401]);
});

describe('the history of a conversation', () => {
  test('comes in pages, from its end and from its beginning', async () => {
    using followed = await page.follow();
    for (const n of [1, 2, 3, 4]) {
      world.model.reply(`Answer ${n}.`);
      await page.say('paged', `Question ${n}`);
      await followed.answer('paged', `Answer ${n}.`);
    }
    const texts = (items: readonly { readonly text: string }[]): readonly string[] => items.map(({ text }) => text);
    const newest = await page.history('web:paged', 'limit=3');
    expect([texts(newest.items), newest.more]).toEqual([['Question 3', 'Answer 3.', 'Question 4', 'Answer 4.'], true]);
    const older = await page.history('web:paged', `limit=10&before=${newest.items[0]?.entry}`);
    expect([texts(older.items), older.more]).toEqual([['Question 1', 'Answer 1.', 'Question 2', 'Answer 2.'], false]);
    const after = await page.history('web:paged', `limit=2&after=${older.items[3]?.entry}`);
    expect([texts(after.items), after.more]).toEqual([['Question 3', 'Answer 3.'], true]);
    expect(newest.items[3]).toMatchObject({
      kind: 'assistant',
      usage: { input: 10, output: 5, model: expect.any(String) },
    });
    const said = followed.rows.find((row) => row.text === 'Question 4');
    expect(newest.items[2]?.sources).toEqual([said?.id]);
  });

  test('has beside it what else people read there, as the feed told it: commands, reminders, files, what a job said', async () => {
    using followed = await page.follow();
    const session = 'web:beside';
    const cron = (job: 'message' | 'agent', id: string, text: string) =>
      world.assistant.call('cron', {
        action: 'add',
        job: { id, kind: job, text, when: 'in 5 hours', chat: session },
      });
    await cron('message', 'tea', 'Drink tea.');
    await world.assistant.call('cron', { action: 'run', id: 'tea' });
    await followed.answer('beside', 'Drink tea.');
    expect((await page.history(session)).rows).toMatchObject([{ text: 'Drink tea.', from: 'the reminder tea' }]);
    await writeFile(join(world.workspace, 'plan.txt'), 'a plan');
    world.model.reply(
      { calls: [{ name: 'message', arguments: { text: 'Here it is.', media: ['plan.txt'] } }] },
      'Sent.',
      'The job is done.',
    );
    await page.say('beside', 'Send me the plan');
    await followed.answer('beside', 'Sent.');
    await page.say('beside', '/help');
    await followed.answer('beside', '/undo');
    await cron('agent', 'look', 'Look after it');
    await world.assistant.call('cron', { action: 'run', id: 'look' });
    await followed.answer('beside', 'The job is done.');
    const told = followed.rows.filter((row) => row.session === session);
    const { items, rows } = await page.history(session);
    expect(items.map(({ kind }) => kind)).toEqual(['user', 'call', 'result', 'assistant']);
    const sources = new Set(items.flatMap((item) => item.sources ?? []));
    const isOnTape = (row: Row): boolean => sources.has(row.id) || row.text === 'Sent.';
    const shape = (some: readonly Row[]) => some.map((row) => ({ ...row, state: '', turn: null }));
    expect(shape(rows)).toEqual(shape(told.filter((row) => !isOnTape(row))));
    expect(rows.map(({ text, media }) => text || media?.[0]?.name)).toEqual([
      'Drink tea.',
      'Here it is.',
      'plan.txt',
      '/help',
      expect.stringContaining('/undo'),
      'The job is done.',
    ]);
    expect(await (await page.get(rows[2]?.media?.[0]?.url ?? '')).text()).toBe('a plan');
    const [first] = items;
    expect((await page.history(session, `before=${first?.entry}`)).rows.map(({ text }) => text)).toEqual([
      'Drink tea.',
    ]);
    await world.assistant.call('sessionsDelete', { session });
    expect((await page.get(`/api/sessions/${encodeURIComponent(session)}/history`)).status).toBe(404);
  });

  test('has the beginning of a long text, the rest of which is read in pages', async () => {
    using followed = await page.follow();
    const text = 'long text '.repeat(12_000);
    world.model.reply({ text, chunkSize: 50_000 });
    await page.say('long', 'Much, please');
    const row = await followed.answer('long', 'long text');
    expect([row.text.length, row.cut]).toEqual([20_000, true]);
    const item = (await page.history('web:long')).items.at(-1);
    expect([item?.text.length, item?.cut]).toEqual([20_000, true]);
    const entry = `/api/sessions/web%3Along/entries/${item?.entry}?item=${item?.id}`;
    const first = (await (await page.get(entry)).json()) as { text: string; next: number };
    expect([first.text.length, first.next]).toEqual([100_000, 100_000]);
    const second = (await (await page.get(`${entry}&offset=${first.next}`)).json()) as { text: string; next: null };
    expect([first.text + second.text === text, second.next]).toEqual([true, null]);
  });

  test('that is none is not found, whatever its name', async () => {
    for (const key of ['web:none', '../../gateway.token', '%2e%2e%2fstate', 'x'.repeat(5_000)]) {
      const answer = await page.get(`/api/sessions/${encodeURIComponent(key)}/history`);
      expect([answer.status, await answer.json()], key).toMatchObject([404, { error: { code: 'session-unknown' } }]);
    }
    const mayBeNew = await page.get('/api/sessions/web%3Anone/history?new=yes');
    expect([mayBeNew.status, await mayBeNew.json()]).toEqual([200, { items: [], rows: [], more: false }]);
    expect((await page.get('/api/sessions/web%3Apaged/entries/none')).status).toBe(404);
    expect((await page.get('/api/sessions/web%3Apaged/history?limit=-1')).status).toBe(400);
  });
});

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../support/wait.ts';
import { startWorld, type World } from '../../support/world.ts';
import { newId, pageClient, type Followed, type PageClient } from './page-client.ts';

/** One pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let world: World;
let page: PageClient;
let followed: Followed;

beforeAll(async () => {
  world = await startWorld({ config: { tools: { exec: { mode: 'ask', sandbox: 'off' } } } });
  page = await pageClient(world);
  followed = await page.follow();
});

afterAll(async () => {
  followed[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});

const lastBody = (): string => JSON.stringify(world.model.requests.at(-1)?.body);

describe('a message of the page', () => {
  test('is answered, and both are rows that everybody who watches gets', async () => {
    world.model.reply('Hello from the **model**.');
    const id = newId();
    const sent = await page.post('/api/messages', { id, chat: 'hello', text: 'Hi there' });
    expect(sent).toEqual({ status: 202, body: { accepted: 'accepted', session: 'web:hello' } });
    const row = await followed.answer('hello', 'Hello from the **model**.');
    expect(row).toMatchObject({ session: 'web:hello', channel: 'web', kind: 'answer' });
    const said = followed.rows.find(({ direction, chat }) => direction === 'in' && chat === 'hello');
    expect(said).toMatchObject({ kind: 'user', text: 'Hi there', externalId: id });
    const end = await followed.end('Hello from the **model**.');
    expect(end).toMatchObject({ sessionKey: 'web:hello', result: { outcome: 'answered' } });
  });

  test('that is sent twice under one id has one answer', async () => {
    world.model.reply('Once.');
    const message = { id: newId(), chat: 'twice', text: 'Only once' };
    const replies = await Promise.all([page.post('/api/messages', message), page.post('/api/messages', message)]);
    expect(new Set(replies.map(({ body }) => body['accepted']))).toEqual(new Set(['accepted', 'duplicate']));
    await followed.answer('twice', 'Once.');
    expect((await page.post('/api/messages', message)).body['accepted']).toBe('duplicate');
    expect((await page.history('web:twice')).items.map(({ kind }) => kind)).toEqual(['user', 'assistant']);
  });

  test('while the model works reaches it in the same turn', async () => {
    world.model.reply(
      { calls: [{ name: 'list_dir', arguments: { path: '.' } }], delayMs: 300 },
      { text: 'Both were read.' },
    );
    const before = world.model.requests.length;
    await page.say('steered', 'Begin');
    await waitFor(() => world.model.requests.length > before, { what: 'the first request' });
    await page.say('steered', 'And mind the second one');
    await followed.answer('steered', 'Both were read.');
    expect(lastBody()).toContain('And mind the second one');
    expect(world.model.requests.length).toBe(before + 2);
  });

  test('can be a command, as in every chat', async () => {
    await page.say('commands', '/help');
    expect((await followed.answer('commands', '/undo')).text).toContain('/retry');
  });

  test.each([
    [{ id: 'x', chat: 'a', text: 'b' }, 'id: '],
    [{ id: 'message-0001', chat: '../a', text: 'b' }, 'chat: '],
    [{ id: 'message-0001', chat: 'a', text: ' ' }, 'text: '],
    [{ id: 'message-0001', chat: 'a' }, 'text: '],
    [{ id: 'message-0001', chat: 'a', text: 'b'.repeat(400_001) }, 'text: '],
    [{ id: 'message-0001', chat: 'a', text: 'b', media: [{}] }, 'media.0.upload: '],
  ])('that is not one gets a sentence that names what is wrong: %#', async (message, begins) => {
    const { status, body } = await page.post('/api/messages', message);
    expect(status).toBe(400);
    expect(body).toEqual({ error: { code: 'input-invalid', message: expect.stringContaining(begins) } });
  });
});

test('stop ends the turn, and the page is told', async () => {
  const before = world.model.requests.length;
  world.model.reply({ text: 'This would take long. '.repeat(50), eventDelayMs: 200 });
  await page.say('long', 'Tell me everything');
  await waitFor(() => world.model.requests.length > before, { what: 'the request' });
  const stop = { id: newId(), chat: 'long' };
  expect(await page.post('/api/stop', stop)).toMatchObject({ status: 202, body: { session: 'web:long' } });
  const outcomes = (): readonly string[] =>
    followed
      .of('live')
      .flatMap(({ event }) =>
        event.type === 'turn-end' && event.sessionKey === 'web:long' ? [event.result.outcome] : [],
      );
  await waitFor(() => outcomes().includes('stopped'), { what: 'the end' });
  expect((await page.post('/api/stop', stop)).body['accepted']).toBe('duplicate');
});

describe('a question', () => {
  const exec = (command: string): object => ({ calls: [{ name: 'exec', arguments: { command } }] });
  const waiting = async (session: string) =>
    await waitFor(
      () =>
        followed
          .of('questions')
          .at(-1)
          ?.questions.find((one) => one.session === session),
      {
        what: `a question of ${session}`,
      },
    );

  test('is shown with all that will run, and a yes is taken once', async () => {
    world.model.reply(exec('touch allowed'), 'It ran.');
    await page.say('yes', 'Do it');
    const question = await waiting('web:yes');
    expect(question).toMatchObject({ kind: 'approval', choices: [], detail: expect.stringContaining('touch allowed') });
    const answer = { id: newId(), code: question.code, decision: 'approve' };
    expect(await page.post('/api/answers', answer)).toEqual({
      status: 202,
      body: { accepted: 'accepted', reply: 'Allowed, once.' },
    });
    await followed.answer('yes', 'It ran.');
    expect(existsSync(join(world.workspace, 'allowed'))).toBe(true);
    expect((await page.post('/api/answers', answer)).body).toEqual({ accepted: 'duplicate', reply: 'Allowed, once.' });
    expect((await page.post('/api/answers', { ...answer, id: newId() })).body['reply']).toContain('closed already');
  });

  test('can be answered with a no and its reason, which the model reads', async () => {
    world.model.reply(exec('touch denied'), 'Then not.');
    await page.say('no', 'Do it');
    const { code } = await waiting('web:no');
    await page.post('/api/answers', { id: newId(), code, decision: 'deny', text: 'not on a Sunday' });
    await followed.answer('no', 'Then not.');
    expect(lastBody()).toContain('not on a Sunday');
    expect(existsSync(join(world.workspace, 'denied'))).toBe(false);
  });

  test('of the model is answered in own words or by a choice', async () => {
    const ask = { name: 'ask_user', arguments: { question: 'Which one?', choices: ['red', 'blue'] } };
    world.model.reply({ calls: [ask] }, 'Blue it is.');
    await page.say('ask', 'Paint it');
    const { code, kind, choices } = await waiting('web:ask');
    expect([kind, choices]).toEqual(['ask', ['red', 'blue']]);
    const wrong = await page.post('/api/answers', { id: newId(), code, decision: 'approve' });
    expect(wrong).toMatchObject({ status: 400, body: { error: { message: 'decision: this question takes answer.' } } });
    await page.post('/api/answers', { id: newId(), code, decision: 'answer', text: 'Blue' });
    await followed.answer('ask', 'Blue it is.');
    expect(lastBody()).toContain('blue');
  });

  test('that does not exist cannot be answered', async () => {
    const { status, body } = await page.post('/api/answers', { id: newId(), code: 'nope', decision: 'deny' });
    expect([status, body]).toEqual([
      404,
      { error: { code: 'question-unknown', message: 'There is no such question.' } },
    ]);
  });
});

describe('a file', () => {
  test('that was uploaded goes with a message, and its image can be seen in the conversation', async () => {
    const { upload, size, mediaType } = await page.upload('dot.png', 'image/png', PNG);
    expect([size, mediaType]).toEqual([PNG.byteLength, 'image/png']);
    world.model.reply('A dot.');
    await page.say('image', 'What is it?', { media: [{ upload, name: 'dot.png' }] });
    await followed.answer('image', 'A dot.');
    expect(lastBody()).toContain(PNG.toString('base64'));
    const [said] = (await page.history('web:image')).items;
    const image = await page.get(`/api/media/${said?.images?.[0]}`);
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(image.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    expect(Buffer.from(await image.arrayBuffer())).toEqual(PNG);
  });

  test('of another kind lies where the tools of this conversation can read it', async () => {
    const { upload } = await page.upload('notes.txt', 'text/plain', Buffer.from('the secret is tea'));
    world.model.reply('Read.');
    await page.say('notes', '', { media: [{ upload, name: 'notes.txt' }] });
    await followed.answer('notes', 'Read.');
    expect(lastBody()).toMatch(/notes\.txt.{1,20} is at .*notes\.txt/u);
  });

  test('that is not kept any more is named as such', async () => {
    const gone = await page.say('gone', 'see', { media: [{ upload: `${'0'.repeat(32)}:image/png` }] });
    expect(gone).toMatchObject({ status: 404, body: { error: { code: 'upload-unknown' } } });
    expect((await page.get(`/api/media/${'0'.repeat(64)}`)).status).toBe(404);
    expect((await page.get('/api/media/..%2F..%2Fgateway.token')).status).toBe(404);
  });

  test('that the model sends is a download', async () => {
    await writeFile(join(world.workspace, 'page.html'), '<script>alert(1)</script>');
    world.model.reply(
      { calls: [{ name: 'message', arguments: { text: 'Here.', media: ['page.html'] } }] },
      'I sent it.',
    );
    await page.say('download', 'Send me the file');
    await followed.answer('download', 'I sent it.');
    const { media = [] } = followed.rows.find((row) => row.chat === 'download' && row.media !== undefined) ?? {};
    const file = await page.get(media[0]?.url ?? '');
    expect(file.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''page.html");
    expect(file.headers.get('content-type')).toBe('application/octet-stream');
    expect(await file.text()).toBe('<script>alert(1)</script>');
    expect((await page.get(`${media[0]?.url}9`)).status).toBe(404);
  });
});

describe('an operation', () => {
  test('answers with its result, and is in the audit log as one of the page', async () => {
    expect(await page.post('/api/operations/memoryLog', {})).toEqual({ status: 200, body: { result: [] } });
    const changes = (): number => followed.of('changed').filter(({ what }) => what === 'schedule').length;
    await page.post('/api/operations/cron', { action: 'list' });
    const before = changes();
    const job = { when: '0 9 * * 1', text: 'Good morning', kind: 'message', id: 'morning', zone: 'UTC' };
    expect((await page.post('/api/operations/cron', { action: 'add', job })).body).toHaveProperty('result');
    await waitFor(() => changes() === before + 1, { what: 'the change' });
    const entries = await world.assistant.call('audit', { count: 10, asked: false, about: 'cron' });
    expect(entries).toMatchObject([{ who: 'web:owner', what: 'cron add' }]);
  });

  test('that is none, or gets what it does not take, is refused with one sentence', async () => {
    expect(await page.post('/api/operations/nothing', {})).toMatchObject({
      status: 404,
      body: { error: { code: 'operation-unknown' } },
    });
    expect(await page.post('/api/operations/filesRead', { name: 5 })).toMatchObject({
      status: 400,
      body: { error: { code: 'operation-invalid', message: expect.stringMatching(/name/u) } },
    });
  });
});

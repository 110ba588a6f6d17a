import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import { replyJson, startServer } from '../../support/http.ts';
import type { ErrorStep } from '../../support/model-script.ts';
import { recordingLog } from '../../support/recording-log.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../../support/world.ts';

const refused = (status: number, message: string, more: Partial<ErrorStep['error']> = {}): ErrorStep => ({
  error: { status, message, ...more },
});
const TEMPLATE = 'Jinja Exception: Conversation roles must alternate';

/** What the owner is told after saying something. */
async function told(world: World, text: string, part: string): Promise<string> {
  world.telegram.userSays(OWNER, text);
  return await waitFor(() => chatOf(world, OWNER).find((said) => said.includes(part)), { what: part });
}

describe('what a server says of a request', () => {
  test.each([500, 503, 429])(
    'with status %i is told in its own words after one call, in /why and in the log',
    async (status) => {
      const log = recordingLog();
      await using world = await startWorld({ log });
      const asking = new Asking(world);
      const asked = await asking.say('hi', OWNER, refused(status, TEMPLATE, { type: 'server_error' }));
      expect(world.model.requests).toHaveLength(1);
      expect(await told(world, '/status', TEMPLATE)).not.toMatch(/overloaded|rate-limiting/u);
      expect(await asking.why(asked)).toContain(TEMPLATE);
      expect(JSON.stringify(log.lines)).toContain(TEMPLATE);
    },
  );

  test('of memory on the machine of Ollama is told with the setting that needs less', async () => {
    await using world = await startWorld({ dialect: 'ollama' });
    world.model.reply(refused(500, 'model requires more system memory (5.6 GiB) than is available (3.1 GiB)'));
    const sentence = await told(world, 'hi', 'more system memory (5.6 GiB)');
    expect(sentence).toContain('models."ollama/scripted-model".contextWindow');
    expect(sentence).not.toContain('overloaded');
    expect(world.model.requests).toHaveLength(1);
  });

  test('is no link and no formatting in the chat', async () => {
    await using world = await startWorld();
    world.model.reply(refused(402, 'See **this** [page](https://evil.example/a) now'));
    await told(world, 'hi', '**this** [page](https://evil.example/a)');
    expect(JSON.stringify(world.telegram.calls)).not.toMatch(/href=|"text_link"/u);
  });

  test('is not the last word if it is about one field: the next turn does not send it at all', async () => {
    await using world = await startWorld();
    world.model.reply(refused(400, "Extra inputs are not permitted, field: 'stream_options'"), 'Here.', 'Again.');
    await told(world, 'hi', 'Here.');
    await told(world, 'and?', 'Again.');
    expect(world.model.requests.map(({ body }) => 'stream_options' in body)).toEqual([true, false, false]);
  });

  test('about what the model wrote is asked once more', async () => {
    await using world = await startWorld();
    world.model.reply(
      refused(400, 'Failed to call a function. Please adjust your prompt.', { code: 'tool_use_failed' }),
      'Here.',
    );
    await told(world, 'hi', 'Here.');
    expect(world.model.requests).toHaveLength(2);
  });
});

test('an answer that its own server cannot read is asked for once more, then told with what came of it', async () => {
  const peg = 'The model produced output that does not match the expected peg-native format';
  const chunk = (delta: object): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}`;
  const raw = [
    chunk({ content: 'The ferry leaves at nine' }),
    `data: ${JSON.stringify({ error: { code: 500, message: peg, type: 'server_error' } })}`,
  ];
  const log = recordingLog();
  await using world = await startWorld({ log });
  world.model.reply({ raw }, { raw });
  world.telegram.userSays(OWNER, 'hi');
  await waitFor(() => chatOf(world).some((text) => text.includes(peg)), { what: 'the sentence' });
  expect(chatOf(world).join('\n')).not.toMatch(/overloaded/u);
  expect(world.model.requests).toHaveLength(2);
  expect(JSON.stringify(log.lines)).toContain(peg);
});

describe('a limit that opens at a time', () => {
  const limit = (at: number): ErrorStep => {
    const [day, time] = new Date(at + 8 * 3_600_000).toISOString().split('T');
    const when = `${day} ${time?.slice(0, 8)}`;
    return refused(429, `Usage limit reached for 5 hour. Your limit will reset at ${when}`, { code: '1308' });
  };

  test('is asked once, and told as the time where the person lives', async () => {
    await using world = await startWorld({ config: { agent: { timezone: 'Asia/Kolkata' } } });
    const at = Date.now() + 2 * 3_600_000;
    world.model.reply(limit(at));
    const sentence = await told(world, 'hi', 'is rate-limiting us right now');
    const time = new Intl.DateTimeFormat('en-GB', { timeZone: 'Asia/Kolkata', hour: '2-digit', minute: '2-digit' });
    expect([at, at + 60_000].some((one) => sentence.includes(`after ${time.format(one)}`))).toBe(true);
    expect(world.model.requests).toHaveLength(1);
  });

  test.each([
    ['a limit', limit(Date.now() + 7_200_000)],
    ['a model that is not there', refused(404, 'The model does not exist', { code: 'model_not_found' })],
    ['a used up account', refused(429, 'Please recharge', { type: 'exceeded_current_quota_error' })],
  ])('lets the next model answer at once (%s)', async (_what, step) => {
    await using world = await startWorld({ config: { agent: { fallbacks: ['openai/second'] } } });
    world.model.reply(step, 'From the second.', 'Still the second.');
    await told(world, 'hi', 'From the second.');
    await told(world, 'more', 'Still the second.');
    expect(world.model.requests.map(({ view }) => view.model)).toEqual(['scripted-model', 'second', 'second']);
  });
});

test('what no longer fits into a small window is told, and saved to the memory', async () => {
  await using world = await startWorld();
  const canoe = `The blue canoe. ${'It lies at the lake. '.repeat(200)}`;
  world.model.reply('Noted.', refused(400, 'Prompt exceeds max length', { code: '1261' }), 'Short.');
  await told(world, canoe, 'Noted.');
  expect(await told(world, 'and?', 'Short.')).toContain('no longer fits into the context window');
  expect(world.model.requests.at(-1)?.view.messageCount).toBeLessThan(4);
  await waitFor(() => world.model.asides.length > 0, { what: 'a summary' });
  expect(world.model.asides[0]?.text).toContain('blue canoe');
  const history = join(world.workspace, 'memory', 'HISTORY.md');
  await waitFor(async () => (await readFile(history, 'utf8').catch(() => '')).includes('They talked.'), {
    what: 'the summary of the double in the history file',
  });
});

test('a server with a name of one’s own is asked how much its model reads', async () => {
  await using server = await startServer((request, response) => {
    if (request.url === '/v1/models') replyJson(response, 200, { data: [{ id: 'm', max_model_len: 23_456 }] });
    else replyJson(response, 404, {});
  });
  await using world = await startWorld({
    config: { agent: { model: 'mine/m' }, providers: { mine: { kind: 'openai', baseUrl: `${server.url}/v1` } } },
  });
  await told(world, '/context', '23,456');
});

test('what a server refused is known after a restart, and /model shows it with its date', async () => {
  await using world = await startWorld();
  world.model.setHandler(({ body }) =>
    'stream_options' in body
      ? { error: { status: 400, message: "Unsupported parameter: 'stream_options' is not supported." } }
      : 'Here.',
  );
  const say = async (text: string): Promise<string> => {
    const before = chatOf(world).length;
    world.telegram.userSays(OWNER, text);
    await waitFor(() => chatOf(world).length > before, { what: text });
    return chatOf(world).at(-1) ?? '';
  };
  expect(await say('hi')).toBe('Here.');
  expect(world.model.requests).toHaveLength(2);
  await world.restart();
  expect(await say('still there?')).toBe('Here.');
  expect(world.model.requests).toHaveLength(3);
  expect(await say('/model')).toMatch(/no stream_options \(since \d{4}-\d\d-\d\d\)/u);
});

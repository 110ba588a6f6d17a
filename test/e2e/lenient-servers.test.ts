import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import type { RawStep } from '../support/model-script.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type DialectName, type World } from '../support/world.ts';
import { say } from './memory-world.ts';

const DIALECTS: readonly DialectName[] = ['openai', 'anthropic', 'openai-responses', 'ollama'];
const PROSE = 'The garden, the long winter, the neighbours, and what there was for dinner. ';

const data = (...events: readonly unknown[]): RawStep => ({
  raw: [...events.map((event) => `data: ${JSON.stringify(event)}`), 'data: [DONE]'],
});
const chunk = (delta: object, more: object = {}): unknown => ({ choices: [{ index: 0, delta, ...more }] });

interface Counted {
  readonly calls: number;
  readonly estimated: number;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly cost: number | null;
}

/** What the journal has counted. */
function counted(world: World): Counted {
  using db = new DatabaseSync(homePaths(world.home).state, { readOnly: true });
  const row = db
    .prepare(
      `SELECT count(*) AS calls, sum(estimated) AS estimated, sum(input) AS input, sum(cached) AS cached,
         sum(output) AS output, sum(cost_usd) AS cost FROM usage`,
    )
    .get();
  const number = (name: string): number => Number(row?.[name] ?? 0);
  return {
    calls: number('calls'),
    estimated: number('estimated'),
    input: number('input'),
    cached: number('cached'),
    output: number('output'),
    cost: row?.['cost'] === null ? null : number('cost'),
  };
}

describe.each(DIALECTS)('with a model server of the %s dialect', (dialect) => {
  test.each<[string, null | { input: number; output: number }]>([
    ['never tells usage', null],
    ['tells zeros', { input: 0, output: 0 }],
  ])('that %s, calls are counted by an estimate, and a budget of tokens holds', async (_name, usage) => {
    await using world = await startWorld({ dialect, config: { agent: { budget: { dayTokens: 12_000 } } } });
    world.model.setHandler(() => ({ text: PROSE.repeat(20), usage }));
    let calls = 0;
    for (; calls < 8; calls += 1) {
      const reply = await say(world, `${calls}: ${PROSE.repeat(20)}`);
      if (reply.includes('budget')) break;
    }
    await waitFor(() => chatOf(world).some((text) => /today’s budget is used up: .*of 12,000 tokens/u.test(text)));
    expect(world.model.requests.length).toBeLessThan(8);
    const sum = counted(world);
    expect(sum.calls).toBe(world.model.requests.length);
    expect(sum.estimated).toBe(sum.calls);
    expect(await say(world, '/usage')).toMatch(/Here today: [\d,]+ tokens in, [\d,]+ out, \d calls? \(estimated\);/u);
  });

  test('an answer that was stopped is counted by an estimate', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply({ text: PROSE.repeat(10), fault: 'hang-mid', afterEvents: 12 });
    world.telegram.userSays(OWNER, 'Tell me everything.');
    await waitFor(() => world.model.requests.length === 1);
    await say(world, '/stop');
    await waitFor(() => counted(world).calls === 1, { what: 'the stopped call in the journal' });
    const sum = counted(world);
    expect(sum.estimated).toBe(1);
    // Anthropic counts the prompt in its first event; the fake server says 10 there.
    expect(sum.input).toBeGreaterThan(dialect === 'anthropic' ? 9 : 1_000);
  });

  test('an answer that broke is counted by an estimate, beside the one after it', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply({ text: PROSE.repeat(10), fault: 'reset-mid', afterEvents: 12 }, 'Here it is.');
    world.telegram.userSays(OWNER, 'Tell me everything.');
    await waitFor(() => chatOf(world).at(-1) === 'Here it is.');
    expect(counted(world)).toMatchObject({ calls: 2, estimated: 1 });
    expect(await say(world, '/usage')).toMatch(/2 calls \(1 of them estimated\)/u);
  });

  test('an answer that broke before its first word is counted by an estimate', async () => {
    await using world = await startWorld({ dialect });
    const begun: Readonly<Record<DialectName, string>> = {
      openai: 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}',
      anthropic: 'event: message_start\ndata: {"type":"message_start","message":{"model":"m","usage":{}}}',
      'openai-responses': 'data: {"type":"response.created","response":{"status":"in_progress","output":[]}}',
      ollama: '{"model":"m","message":{"role":"assistant","content":""},"done":false}',
    };
    world.model.reply({ raw: [begun[dialect]] }, 'Here it is.');
    world.telegram.userSays(OWNER, 'Tell me everything.');
    await waitFor(() => chatOf(world).at(-1) === 'Here it is.');
    expect(counted(world)).toMatchObject({ calls: 2, estimated: 1 });
  });

  test('a page that is no answer is not counted', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply({ raw: ['<html><body>Log in first.</body></html>'], contentType: 'text/html' }, 'Here it is.');
    world.telegram.userSays(OWNER, 'Tell me everything.');
    await waitFor(() => chatOf(world).at(-1) === 'Here it is.');
    expect(counted(world).calls).toBe(1);
  });

  test('a request that was refused is not counted', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply({ error: { status: 401 } });
    await say(world, 'hello');
    expect(counted(world).calls).toBe(0);
  });

  test('a call that the model wrote into its answer is run, and its markup never shown', async () => {
    const [provider] = dialect === 'openai-responses' ? ['openai'] : [dialect];
    await using world = await startWorld({ dialect, config: { agent: { model: `${provider}/qwen3-32b` } } });
    await writeFile(join(world.workspace, 'notes.txt'), 'The door code is in the drawer.');
    const written = '<tool_call>\n{"name": "read_file", "arguments": {"path": "notes.txt"}}\n</tool_call>';
    world.model.reply({ text: `I'll look it up.\n${written}`, chunkSize: 4 }, 'It is in the drawer.');
    expect(await say(world, 'Where is the code?')).toContain('It is in the drawer.');
    expect(world.model.requests[1]?.view.toolResults[0]?.text).toContain('The door code is in the drawer.');
    expect(JSON.stringify(chatOf(world))).not.toContain('tool_call');
  });

  test('arguments that are no JSON are shown to the model as it wrote them', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply({ calls: [{ name: 'list_dir', arguments: '{path: here}' }] }, 'Sorry.');
    await say(world, 'What is there?');
    expect(world.model.requests[1]?.text).toContain('{path: here}');
  });
});

test('usage with numbers as strings and a cost is counted as the provider told it', async () => {
  await using world = await startWorld();
  const usage = { prompt_tokens: '1000', completion_tokens: '20', cached_tokens: '900', cost: '0.0123' };
  world.model.reply(data(chunk({ content: 'Hello.' }), { ...Object(chunk({}, { finish_reason: 'stop' })), usage }));
  expect(await say(world, 'hi')).toBe('Hello.');
  expect(world.model.requests).toHaveLength(1);
  expect(counted(world)).toEqual({ calls: 1, estimated: 0, input: 1000, cached: 900, output: 20, cost: 0.0123 });
  expect(await say(world, '/usage')).toMatch(/1,000 tokens in \(900 cached\), 20 out, 1 call; \$0\.0123/u);
});

test.each<[string, RawStep]>([
  [
    'a tool call without a name',
    data(chunk({ content: 'Hello.' }), chunk({ tool_calls: [{ index: 0, id: '' }] }, { finish_reason: 'stop' })),
  ],
  ['no finish reason', data(chunk({ content: 'Hello.' }))],
  [
    'a JSON body instead of a stream',
    {
      raw: [JSON.stringify({ choices: [{ index: 0, message: { content: 'Hello.' }, finish_reason: 'stop' }] })],
      contentType: 'application/json',
    },
  ],
  [
    'a second choice before the first',
    data(
      {
        choices: [
          { index: 1, delta: { content: 'Other.' } },
          { index: 0, delta: { content: 'Hello.' } },
        ],
      },
      chunk({}, { finish_reason: 'stop' }),
    ),
  ],
])('an answer with %s arrives, asked for once', async (_name, step) => {
  await using world = await startWorld();
  world.model.reply(step);
  expect(await say(world, 'hi')).toBe('Hello.');
  expect(world.model.requests).toHaveLength(1);
});

test('an answer that ends with "network_error" is asked for again', async () => {
  await using world = await startWorld();
  world.model.reply(data(chunk({ content: 'Half an' }, { finish_reason: 'network_error' })), 'A whole answer.');
  world.telegram.userSays(OWNER, 'hi');
  await waitFor(() => chatOf(world).at(-1) === 'A whole answer.');
});

test('a Responses answer that is incomplete after its first words goes on from them', async () => {
  await using world = await startWorld({ dialect: 'openai-responses' });
  world.model.reply(
    data(
      { type: 'response.output_text.delta', output_index: 0, delta: 'The first half' },
      {
        type: 'response.incomplete',
        response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] },
      },
    ),
    ' and the second.',
  );
  expect(await say(world, 'hi')).toContain('The first half');
});

test('an Anthropic server without event lines is understood', async () => {
  await using world = await startWorld({ dialect: 'anthropic' });
  world.model.reply(
    data(
      { type: 'message_start', message: { model: 'm', usage: { input_tokens: 10, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ),
  );
  expect(await say(world, 'hi')).toBe('Hello.');
});

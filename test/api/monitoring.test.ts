import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { traceTarget } from '../../src/extensions/monitoring/traces.ts';
import { startApi, type ApiWorld } from '../support/api-world.ts';
import { readBody, replyJson, startServer } from '../support/http.ts';
import { recordingLog } from '../support/recording-log.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER } from '../support/world.ts';

const attribute = z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) });
const sent = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attribute) }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string().regex(/^[0-9a-f]{32}$/u),
              spanId: z.string().regex(/^[0-9a-f]{16}$/u),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.number(),
              startTimeUnixNano: z.string().regex(/^\d{19}$/u),
              endTimeUnixNano: z.string().regex(/^\d{19}$/u),
              attributes: z.array(attribute),
              status: z.object({ code: z.number(), message: z.string().optional() }),
            }),
          ),
        }),
      ),
    }),
  ),
});

/** One conversation on Telegram in a gateway that also sends traces; all tests look at what it left. */
let api: ApiWorld;
let isDown = false;
const log = recordingLog();
const stack = new AsyncDisposableStack();
const posts: { readonly path: string; readonly key: string | undefined; readonly body: string }[] = [];

beforeAll(async () => {
  const collector = stack.use(
    await startServer(async (request, response) => {
      const key = request.headers['x-team'];
      posts.push({ path: request.url ?? '', key: String(key), body: await readBody(request) });
      replyJson(response, isDown ? 503 : 200, {});
    }),
  );
  api = stack.use(
    await startApi({
      log,
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/otlp/`,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-team=ours%20too',
        OTEL_SERVICE_NAME: 'my assistant',
      },
      config: { models: { 'openai/scripted-model': { price: { input: 1, output: 2 } } } },
    }),
  );
  const { world } = api;
  await writeFile(join(world.workspace, 'a.txt'), 'the note');
  world.model.reply(
    {
      text: 'Let me look.',
      calls: [
        { name: 'read_file', arguments: { path: 'a.txt' } },
        { name: 'read_file', arguments: { path: 'missing.txt' } },
        { name: 'make_tea', arguments: {} },
      ],
    },
    'A secret plan.',
  );
  world.telegram.userSays(OWNER, 'What is the plan?');
  await waitFor(() => chatOf(world).includes('A secret plan.'), { what: 'the answer' });
  // The answer was shown as it grew: the turn may not have ended yet.
  await waitFor(async () => {
    const { queues } = await world.assistant.call('health', {});
    return queues.runningTurns + queues.outbound === 0;
  });
});
afterAll(() => stack.disposeAsync());

describe('GET /ready', () => {
  test('says of each part that it works, to those who have the token only', async () => {
    const response = await api.ask('/ready');
    expect([response.status, await response.json()]).toEqual([
      200,
      { ready: true, channels: expect.objectContaining({ telegram: 'ok' }), provider: 'ok', journal: 'ok', disk: 'ok' },
    ]);
    expect((await fetch(`${await api.base()}/ready`)).status).toBe(401);
  });
});

describe('GET /metrics', () => {
  test('counts messages, turns, model calls and tool calls, and tells what waits and what works', async () => {
    const response = await api.ask('/metrics');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/u);
    const lines = (await response.text()).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        '# TYPE assistant_turns_total counter',
        'assistant_messages_total{direction="in"} 1',
        'assistant_turns_total{outcome="answered"} 1',
        'assistant_model_calls_total{model="openai/scripted-model"} 2',
        'assistant_model_tokens_total{model="openai/scripted-model",kind="input"} 20',
        'assistant_model_tokens_total{model="openai/scripted-model",kind="output"} 10',
        'assistant_model_cost_usd_total{model="openai/scripted-model"} 0.00004',
        'assistant_tool_calls_total{tool="read_file",outcome="ok"} 1',
        'assistant_tool_calls_total{tool="read_file",outcome="failed"} 1',
        'assistant_tool_calls_total{tool="unknown",outcome="failed"} 1',
        'assistant_turns_running 0',
        'assistant_queue_messages{direction="out"} 0',
        'assistant_dead_letters 0',
        'assistant_channel_up{channel="telegram"} 1',
        'assistant_provider_up{provider="openai"} 1',
        'assistant_disk_writable 1',
      ]),
    );
    const value = (name: string): number => Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1]);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    expect(value('nodejs_eventloop_lag_max_seconds')).toBeGreaterThanOrEqual(0);
  });

  test('needs the token', async () => {
    expect((await fetch(`${await api.base()}/metrics`)).status).toBe(401);
  });
});

describe('OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  test('gets a trace of each turn by the conventions for GenAI, without a word of what was said', async () => {
    // The last spans are sent when the assistant stops.
    await api.world.restart();
    expect(posts.map(({ path, key }) => [path, key])).toEqual([['/otlp/v1/traces', 'ours too']]);
    const body = posts[0]?.body ?? '';
    expect(body).not.toMatch(/plan|note|a\.txt/u);
    const [resource] = sent.parse(JSON.parse(body)).resourceSpans;
    expect(resource?.resource.attributes).toContainEqual({
      key: 'service.name',
      value: { stringValue: 'my assistant' },
    });
    const spans = resource?.scopeSpans[0]?.spans ?? [];
    expect(spans.map(({ name, kind, status }) => [name, kind, status.message ?? 'ok'])).toEqual([
      ['invoke_agent assistant', 1, 'ok'],
      ['chat scripted-model', 3, 'ok'],
      ['chat scripted-model', 3, 'ok'],
      ['execute_tool read_file', 1, 'ok'],
      ['execute_tool read_file', 1, 'tool_error'],
      ['execute_tool make_tea', 1, 'tool_error'],
    ]);
    const [turn, ...parts] = spans;
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(6);
    for (const part of parts) {
      expect(part.parentSpanId).toBe(turn?.spanId);
      expect(part.startTimeUnixNano >= (turn?.startTimeUnixNano ?? '')).toBe(true);
      expect(part.endTimeUnixNano <= (turn?.endTimeUnixNano ?? '')).toBe(true);
      expect(part.startTimeUnixNano <= part.endTimeUnixNano).toBe(true);
    }
    expect(
      Object.fromEntries(parts[0]?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? []),
    ).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'scripted-model',
      'gen_ai.usage.input_tokens': '10',
      'gen_ai.conversation.id': 'telegram:42',
    });
  });
});

describe('when something does not work', () => {
  test('/ready answers 503 and says what: the model whose newest answer failed, the channel that is refused', async () => {
    const { world } = api;
    const ready = async (): Promise<readonly [number, unknown]> => {
      const response = await api.ask('/ready');
      return [response.status, await response.json()];
    };
    await waitFor(async () => (await ready())[0] === 200, { what: 'ready' });
    world.model.reply({ error: { status: 401, message: 'bad key' } });
    world.telegram.userSays(OWNER, 'Again.');
    await waitFor(async () => (await ready())[0] === 503, { what: 'not ready' });
    expect((await ready())[1]).toMatchObject({
      ready: false,
      provider: expect.stringMatching(/^The newest message could not be answered, \d+ seconds ago\.$/u),
      channels: { telegram: 'ok' },
    });
    world.model.reply('Here again.');
    world.telegram.userSays(OWNER, 'And now?');
    await waitFor(async () => (await ready())[0] === 200, { what: 'ready again' });
    world.telegram.setFaultHandler(() => ({ status: 401, description: 'Unauthorized' }));
    world.telegram.cutAll();
    await waitFor(async () => (await ready())[0] === 503, { what: 'a channel that is refused' });
    expect((await ready())[1]).toMatchObject({
      provider: 'ok',
      channels: { telegram: expect.not.stringMatching(/^ok$/u) },
    });
    expect(await (await api.ask('/metrics')).text()).toContain('\nassistant_channel_up{channel="telegram"} 0\n');
  });

  test('traces that the collector refuses are dropped, and the log says so once', async () => {
    isDown = true;
    const before = posts.length;
    await api.world.restart();
    expect(posts.length).toBe(before + 1);
    const told = log.lines.filter(({ message }) => message === 'traces: not sent');
    expect(told.map(({ level, fields }) => [level, fields])).toEqual([
      ['warn', { collector: expect.stringMatching(/^127\.0\.0\.1:\d+$/u), reason: 'it answered 503' }],
    ]);
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }, null, 1],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://here', OTEL_SDK_DISABLED: 'TRUE' }, null, 0],
    [
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://here/t' },
      { url: 'https://here/t', headers: {}, service: 'assistant' },
      0,
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://here', OTEL_EXPORTER_OTLP_HEADERS: 'a=b=c, d=100%,nothing' },
      { url: 'http://here/v1/traces', headers: { a: 'b=c', d: '100%' }, service: 'assistant' },
      0,
    ],
  ])('%j is understood', (env, target, warnings) => {
    const own = recordingLog();
    expect(traceTarget(env, own)).toEqual(target);
    expect(own.lines.length).toBe(warnings);
  });
});

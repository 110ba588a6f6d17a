import { describe, expect, test } from 'vitest';
import { startServer } from '../support/http.ts';
import { connect, DIALECTS, endOf, hear, HELLO, type Dialect } from './dialects.ts';

/** Servers that keep the connection open behind an answer that is evidently complete. */

const IDLE_MS = 8_000;

const event = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const withoutLastLine = (stream: string): string => stream.replace(/\n\n$/u, '\n');

const chat = [
  event({ choices: [{ index: 0, delta: { content: 'hi' } }] }),
  event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
].join('');
const anthropic = [
  { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]
  .map(event)
  .join('');
const responses = [
  { type: 'response.output_text.delta', output_index: 0, item_id: 'a', delta: 'hi' },
  { type: 'response.completed', response: { status: 'completed', output: [] } },
]
  .map(event)
  .join('');
const json = JSON.stringify({ choices: [{ index: 0, message: { content: 'hi' }, finish_reason: 'stop' }] });

describe('an answer that is complete is taken, though the connection stays open', () => {
  test.each<[string, Dialect['name'], readonly string[], object?]>([
    ['[DONE] without an empty line', 'openai', [chat, 'data: [DONE]\n']],
    ['a finish reason without [DONE]', 'openai', [chat]],
    [
      'a finish reason and a usage without [DONE]',
      'openai',
      [chat, event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } })],
      { input: 7, output: 3 },
    ],
    ['a JSON body', 'openai', [json]],
    ['a JSON body in two pieces', 'openai', [json.slice(0, -2), json.slice(-2)]],
    ['message_stop without an empty line', 'anthropic', [withoutLastLine(anthropic)]],
    ['response.completed without an empty line', 'openai-responses', [withoutLastLine(responses)]],
  ])('%s', async (_name, name, parts, usage) => {
    const dialect = DIALECTS.find((each) => each.name === name);
    if (dialect === undefined) throw new Error(`no dialect ${name}`);
    await using server = await startServer((request, response) => {
      request.resume();
      const isJson = parts[0]?.startsWith('{') === true;
      response.writeHead(200, { 'content-type': isJson ? 'application/json' : 'text/event-stream' });
      for (const part of parts) response.write(part);
    });
    const before = performance.now();
    const heard = await hear(
      connect(dialect, { url: `${server.url}/v1` }, { firstByteMs: IDLE_MS, idleMs: IDLE_MS }),
      HELLO,
    );
    expect(performance.now() - before).toBeLessThan(IDLE_MS / 2);
    expect(heard.text).toBe('hi');
    expect(endOf(heard)).toMatchObject({ stopReason: 'stop', response: usage === undefined ? {} : { usage } });
  });
});

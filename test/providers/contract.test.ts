import { describe, expect, test } from 'vitest';
import type { Answer } from '../support/model-script.ts';
import { ask, connect, DIALECTS, endOf, errorOf, hear, HELLO } from './dialects.ts';

describe.each(DIALECTS)('$name', (dialect) => {
  describe('answers', () => {
    test('text arrives in pieces and whole at the end', async () => {
      const heard = await ask(dialect, 'Hello, Wörld 👋, how are you today?');
      expect(heard.text).toBe('Hello, Wörld 👋, how are you today?');
      expect(heard.events.filter((event) => event.type === 'text-delta').length).toBeGreaterThan(1);
      expect(endOf(heard)).toMatchObject({
        stopReason: 'stop',
        response: { model: 'test-model', content: [{ type: 'text', text: heard.text }] },
      });
    });

    test('a tool call comes with its raw arguments after its pieces', async () => {
      const heard = await ask(dialect, {
        calls: [{ id: 'c1', name: 'read_file', arguments: { path: 'a long path.md' } }],
      });
      const pieces = heard.events.flatMap((event) => (event.type === 'tool-call-delta' ? [event.argumentsDelta] : []));
      expect(pieces.join('')).toBe('{"path":"a long path.md"}');
      const whole = { id: 'c1', name: 'read_file', arguments: '{"path":"a long path.md"}' };
      expect(heard.events.filter((event) => event.type === 'tool-call')).toEqual([
        { type: 'tool-call', index: 0, call: whole },
      ]);
      expect(endOf(heard)).toMatchObject({
        stopReason: 'tool-calls',
        response: { content: [{ type: 'tool-call', ...whole }] },
      });
    });

    test('text and parallel calls keep the order in which they were written', async () => {
      const calls = ['a', 'b', 'c'].map((path) => ({ id: `id_${path}`, name: 'read_file', arguments: { path } }));
      const end = endOf(await ask(dialect, { text: 'Let me look.', calls }));
      expect(end.response.content.map((part) => (part.type === 'tool-call' ? part.id : part.type))).toEqual([
        'text',
        'id_a',
        'id_b',
        'id_c',
      ]);
    });

    test('broken arguments are passed on as they are', async () => {
      const end = endOf(await ask(dialect, { calls: [{ name: 'read_file', arguments: '{"path": "a' }] }));
      expect(end.response.content).toMatchObject([{ type: 'tool-call', arguments: '{"path": "a' }]);
    });

    test('calls with empty or repeated ids are still separate calls', async () => {
      const calls = ['', '', 'x', 'x'].map((id, n) => ({ id, name: 'read_file', arguments: { path: `${n}` } }));
      const end = endOf(await ask(dialect, { calls }));
      expect(end.response.content).toMatchObject(calls.map(({ id }, n) => ({ id, arguments: `{"path":"${n}"}` })));
    });

    test('a call without a name is malformed', async () => {
      const error = errorOf(await ask(dialect, { calls: [{ name: '', arguments: {} }] }));
      expect(error).toMatchObject({ kind: 'malformed', message: expect.stringContaining('without a name') });
    });

    test('an empty answer ends with no content', async () => {
      expect(endOf(await ask(dialect, { text: '' }))).toMatchObject({ stopReason: 'stop', response: { content: [] } });
    });

    test('reasoning is told apart from text and kept for replay', async () => {
      const heard = await ask(dialect, { reasoning: 'Let me think about this.', text: 'Done.' });
      expect(heard.reasoning).toBe('Let me think about this.');
      expect(heard.text).toBe('Done.');
      expect(endOf(heard).response.content[0]).toMatchObject({
        type: 'reasoning',
        provider: dialect.name,
        model: 'test-model',
        text: 'Let me think about this.',
      });
    });

    test('usage counts the whole prompt', async () => {
      const usage = { input: 100, cached: 900, cacheWrite: 50, output: 40, reasoning: 30 };
      const heard = await ask(dialect, { text: 'x', usage });
      const parts = dialect.countsParts === false ? { cached: 0, cacheWrite: 0, reasoning: 0 } : {};
      const expected = { input: 1050, cached: 900, cacheWrite: 50, output: 40, reasoning: 30, ...parts };
      expect(heard.events).toContainEqual({ type: 'usage', usage: expected });
      expect(endOf(heard).response.usage).toEqual(expected);
    });

    test('missing usage is null', async () => {
      const heard = await ask(dialect, { text: 'x', usage: null });
      expect(endOf(heard).response.usage).toBeNull();
      expect(heard.events.some((event) => event.type === 'usage')).toBe(false);
    });

    test('an answer that hit the limit says so', async () => {
      expect(endOf(await ask(dialect, { text: 'And so', finishReason: dialect.lengthReason })).stopReason).toBe(
        'length',
      );
    });

    test.skipIf(dialect.refusalReason === null)('a refusal says so', async () => {
      expect(endOf(await ask(dialect, { text: 'No.', finishReason: dialect.refusalReason })).stopReason).toBe(
        'refusal',
      );
    });
  });

  describe('broken streams', () => {
    const answer: Answer = {
      reasoning: 'hm',
      text: 'Hello there.',
      calls: [{ name: 'read_file', arguments: { path: 'a' } }],
    };

    test.each(['end-mid', 'reset-mid'] as const)(
      'cut at any event (%s), it is a retryable network error or the whole answer, never a part',
      async (fault) => {
        await using server = await dialect.start();
        const provider = connect(dialect, server);
        const whole = endOf(await ask(dialect, answer)).response.content.map(withoutData);
        let ends = 0;
        for (let afterEvents = 0; ends < 2 && afterEvents < 60; afterEvents += 1) {
          server.reply({ ...answer, fault, afterEvents });
          const { last } = await hear(provider, HELLO);
          if (last.type === 'end') {
            expect(last.response.content.map(withoutData)).toEqual(whole);
            ends += 1;
          } else {
            expect(last).toMatchObject({ kind: 'network', retryable: true });
            expect(last.message).toContain('broke off');
            expect(ends).toBe(0);
          }
        }
        expect(ends).toBe(2);
      },
    );

    test('an answer without a finish reason or a last word is broken', async () => {
      const error = errorOf(await ask(dialect, { text: 'Hello', finishReason: null, noEnd: true }));
      expect(error).toMatchObject({ kind: 'network', retryable: true });
    });

    test('an error event in the middle is classified', async () => {
      const heard = await ask(dialect, {
        text: 'Hello, this is a long text, and more of it follows.',
        fault: 'error-mid',
        afterEvents: 4,
      });
      expect(heard.text).not.toBe('');
      expect(errorOf(heard)).toMatchObject({ kind: 'overloaded', retryable: true });
    });

    test('a piece that is not JSON is malformed', async () => {
      const event = dialect.name === 'anthropic' ? 'event: message_start\n' : '';
      expect(errorOf(await ask(dialect, { raw: [`${event}data: {"broken`] }))).toMatchObject({ kind: 'malformed' });
    });

    test('a page of HTML instead of a stream is a broken stream', async () => {
      const step = { raw: ['<html><body>Sign in</body></html>'], contentType: 'text/html' };
      expect(errorOf(await ask(dialect, step))).toMatchObject({ kind: 'network' });
    });
  });

  test('the provider can be warmed up and works without a key', async () => {
    await using server = await dialect.start({ handler: () => 'ok' });
    const provider = connect(dialect, server, { apiKey: null });
    await provider.warm?.();
    expect(endOf(await hear(provider, HELLO)).stopReason).toBe('stop');
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  test('headers and body of the configuration are sent', async () => {
    await using server = await dialect.start({ handler: () => 'ok', extraKeys: ['top_secret'] });
    const provider = connect(dialect, server, { headers: { 'x-title': 'test' }, extraBody: { top_secret: 1 } });
    endOf(await hear(provider, HELLO));
    expect(server.requests[0]).toMatchObject({ headers: { 'x-title': 'test' }, body: { top_secret: 1 } });
  });
});

/** What a server may give another number each time is left out. */
function withoutData(part: object): object {
  return { ...part, data: undefined, id: undefined };
}

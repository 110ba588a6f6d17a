import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { ask, connect, DIALECTS, endOf, errorOf, hear, HELLO, KEY } from './dialects.ts';

describe.each(DIALECTS)('$name', (dialect) => {
  describe('stopping', () => {
    test('an abort in the middle ends the call at once and closes the connection', async () => {
      await using server = await dialect.start();
      server.reply({ text: 'Hello, this goes on for ever.', fault: 'hang-mid', afterEvents: 4 });
      const stop = new AbortController();
      const heard = await hear(connect(dialect, server), HELLO, {
        signal: stop.signal,
        onEvent: (event) => {
          if (event.type === 'text-delta') stop.abort();
        },
      });
      expect(errorOf(heard)).toMatchObject({ kind: 'aborted', retryable: false });
      await waitFor(() => server.requests[0]?.clientGone);
    });

    test('an abort before the first byte ends the call', async () => {
      await using server = await dialect.start();
      server.reply({ fault: 'hang' });
      const stop = new AbortController();
      const heard = hear(connect(dialect, server), HELLO, { signal: stop.signal });
      await waitFor(() => server.requests.length === 1);
      stop.abort(new Error('the turn is over'));
      expect(errorOf(await heard).kind).toBe('aborted');
      await waitFor(() => server.requests[0]?.clientGone);
    });

    test('with a signal aborted before, nothing is sent', async () => {
      await using server = await dialect.start();
      const heard = await hear(connect(dialect, server), HELLO, { signal: AbortSignal.abort() });
      expect(errorOf(heard).kind).toBe('aborted');
      expect(server.requests).toHaveLength(0);
    });

    test('a listener that leaves closes the connection', async () => {
      await using server = await dialect.start();
      server.reply({ text: 'Hello, this goes on for ever.', fault: 'hang-mid', afterEvents: 4 });
      const { signal } = new AbortController();
      for await (const event of connect(dialect, server).chat(HELLO, { signal })) {
        if (event.type === 'text-delta') break;
      }
      await waitFor(() => server.requests[0]?.clientGone);
    });
  });

  describe('waiting', () => {
    test('a server that never answers is a timeout', async () => {
      await using server = await dialect.start();
      server.reply({ fault: 'hang' });
      const error = errorOf(await hear(connect(dialect, server, { firstByteMs: 200 }), HELLO));
      expect(error).toMatchObject({ kind: 'timeout', retryable: true });
      expect(error.message).toContain(`providers.${dialect.name}.timeouts`);
      await waitFor(() => server.requests[0]?.clientGone);
    });

    test('keep-alives instead of a first piece do not put off the deadline', async () => {
      await using server = await dialect.start();
      server.reply({ text: 'x', fault: 'drip', afterEvents: 0 });
      const heard = await hear(connect(dialect, server, { firstByteMs: 300 }), HELLO);
      expect(errorOf(heard)).toMatchObject({ kind: 'timeout', message: expect.stringContaining('first byte') });
    });

    test('keep-alives in the middle of an answer do not put off the deadline', async () => {
      await using server = await dialect.start();
      server.reply({
        text: 'Hello, this is quite a long text, far longer than what arrives of it.',
        fault: 'drip',
        afterEvents: 5,
      });
      const heard = await hear(connect(dialect, server, { idleMs: 300 }), HELLO);
      expect(heard.text).not.toBe('');
      expect(errorOf(heard)).toMatchObject({ kind: 'timeout', message: expect.stringContaining('next piece') });
    });

    test('a slow but steady answer is not cut', async () => {
      await using server = await dialect.start();
      server.reply({ text: 'slow and steady', chunkSize: 1, eventDelayMs: 60 });
      const heard = await hear(connect(dialect, server, { firstByteMs: 700, idleMs: 700 }), HELLO);
      expect(endOf(heard).stopReason).toBe('stop');
    });
  });

  describe('failures', () => {
    test('a refused connection says whether a server runs there', async () => {
      const probe = createServer().listen(0, '127.0.0.1');
      await once(probe, 'listening');
      const address = probe.address();
      const port = typeof address === 'object' ? address?.port : 0;
      await new Promise((resolve) => probe.close(resolve));
      const error = errorOf(await hear(connect(dialect, { url: `http://127.0.0.1:${port}/v1` }), HELLO));
      expect(error).toMatchObject({ kind: 'network', retryable: true });
      expect(error.message).toContain(`127.0.0.1:${port}`);
      expect(error.message).toContain('is the server running?');
    });

    test('a connection reset before the answer is a retryable network error', async () => {
      expect(errorOf(await ask(dialect, { fault: 'reset' }))).toMatchObject({ kind: 'network', retryable: true });
    });

    test('429 is a rate limit, with the wait that the server asks for', async () => {
      const error = errorOf(await ask(dialect, { error: { status: 429, headers: { 'retry-after': '7' } } }));
      expect(error).toMatchObject({ kind: 'rate-limit', retryable: true, status: 429, retryAfterMs: 7000 });
    });

    test('429 without a wait has none', async () => {
      const error = errorOf(await ask(dialect, { error: { status: 429 } }));
      expect(error).toMatchObject({ kind: 'rate-limit', retryable: true });
      expect(error).not.toHaveProperty('retryAfterMs');
    });

    test('529 is overloaded', async () => {
      expect(errorOf(await ask(dialect, { error: { status: 529 } }))).toMatchObject({
        kind: 'overloaded',
        status: 529,
      });
    });

    test('503 with a page of HTML is overloaded and shows nothing of the page', async () => {
      const body = '<!DOCTYPE html><html><body><h1>Bad gateway of ACME</h1></body></html>';
      const error = errorOf(await ask(dialect, { error: { status: 503, body } }));
      expect(error).toMatchObject({ kind: 'overloaded', retryable: true, status: 503 });
      expect(error.message).not.toMatch(/<|ACME/u);
    });

    test('a prompt that is too long is a context overflow', async () => {
      const error = errorOf(await ask(dialect, { error: dialect.overflow }));
      expect(error).toMatchObject({ kind: 'context-overflow', retryable: false });
    });

    test('401 names the setting and never the key', async () => {
      await using server = await dialect.start({ apiKey: 'another key' });
      const provider = connect(dialect, server, { keyVariable: 'SOME_API_KEY' });
      const error = errorOf(await hear(provider, HELLO));
      expect(error).toMatchObject({ kind: 'auth', retryable: false, status: 401 });
      expect(error.message).toMatch(/Check SOME_API_KEY\.$/u);
      expect(error.message).not.toContain(KEY);
    });

    test('a key quoted by the server is not shown', async () => {
      const message = `Bad parameter, your key is ${KEY}`;
      const error = errorOf(await ask(dialect, { error: { status: 400, message } }));
      expect(error.message).toContain('Bad parameter, your key is [hidden]');
    });

    test('404 names the model', async () => {
      const error = errorOf(await ask(dialect, { error: { status: 404, message: 'model: test-model' } }));
      expect(error).toMatchObject({ kind: 'bad-request', retryable: false });
      expect(error.message).toContain('does not know the model "test-model"');
    });

    test("a failed call is sent once: retrying is not the adapter's", async () => {
      await using server = await dialect.start();
      server.reply({ error: { status: 500 } }, 'not reached');
      await hear(connect(dialect, server), HELLO);
      expect(server.requests).toHaveLength(1);
    });
  });
});

import { describe, expect, test } from 'vitest';
import type { ModelMessage } from '../../src/core/providers/provider.ts';
import { assistant, call, connect, DIALECTS, endOf, hear, HELLO, request, result, user } from './dialects.ts';

describe.each(DIALECTS)('$name', (dialect) => {
  describe('replay', () => {
    /** The bodies of the requests made for some transcripts, in order; each was legal. */
    async function bodies(...transcripts: readonly (readonly ModelMessage[])[]): Promise<readonly string[]> {
      await using server = await dialect.start({ handler: () => 'ok' });
      const provider = connect(dialect, server);
      for (const messages of transcripts) endOf(await hear(provider, request(messages)));
      return server.requests.map(({ body }) => JSON.stringify(body));
    }

    test('empty, repeated and odd call ids become legal ones, the results with them', async () => {
      const ids = ['', '', 'same', 'same', 'ö/"', 'x'.repeat(80)];
      const calls = ids.map((id, n) => call(`01TURN.${n}`, id));
      const [body] = await bodies([user('go'), assistant(...calls), ...ids.map((_, n) => result(`01TURN.${n}`))]);
      expect(body).toContain('01TURN_0');
      expect(body).toContain('"same"');
    });

    test('a call with broken arguments is replayed with what the model wrote', async () => {
      const [body] = await bodies([user('go'), assistant(call('t.1', 'a', '{"path": "a')), result('t.1')]);
      expect(body).toMatch(/"(?:input|arguments)":"?\{\\?"not_a_json_object\\?":/u);
    });

    test('messages that say nothing stay legal', async () => {
      await bodies([user(''), assistant(), user('  '), assistant({ type: 'text', text: '' }), user('hello')]);
    });

    test('what the model thought goes back to it word for word, and to no other', async () => {
      await using server = await dialect.start();
      const provider = connect(dialect, server);
      const calls = [{ id: 'c1', name: 'read_file', arguments: { path: 'a' } }];
      server.reply({ reasoning: 'A deep thought.', calls }, 'ok', 'ok', 'ok');
      const thought = endOf(await hear(provider, HELLO)).response.content.filter((part) => part.type === 'reasoning');
      const transcript = [user('hello'), assistant(...thought, call('t.1', 'c1')), result('t.1')];
      await hear(provider, request(transcript));
      await hear(provider, request(transcript, { model: 'other-model' }));
      await hear(connect(dialect, server, { name: 'other' }), request(transcript));
      const replayed = server.requests.map(({ body }) => JSON.stringify(body).includes('A deep thought.'));
      expect(replayed).toEqual([false, true, false, false]);
    });

    test('a longer transcript begins with the bytes of the shorter one, cache marks aside', async () => {
      const first = [user('one'), assistant(call('t.1', 'same')), result('t.1')];
      const second = [...first, assistant({ type: 'text', text: 'Done.' }), user('two')];
      const third = [...second, assistant(call('u.1', 'same'), call('u.2', '')), result('u.1'), result('u.2')];
      const prefixes = (await bodies(first, second, third)).map(messagesOf);
      for (const [index, longer] of prefixes.slice(1).entries()) {
        expect(longer.startsWith((prefixes[index] ?? '').replace(/\]$/u, ''))).toBe(true);
      }
    });

    test('a message steered in after tool results comes after them', async () => {
      await bodies([user('go'), assistant(call('t.1', 'a')), result('t.1'), user('wait'), user('and this')]);
    });

    test('images go to the model, from people and from tools', async () => {
      const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
      const [body] = await bodies([
        { role: 'user', content: [{ type: 'text', text: 'look' }, image] },
        assistant(call('t.1', 'a'), call('t.2', 'b')),
        { role: 'tool', callId: 't.1', name: 'read_file', output: 'a picture', isError: false, images: [image] },
        { role: 'tool', callId: 't.2', name: 'read_file', output: 'no', isError: true, images: [image] },
        { role: 'user', content: [{ type: 'image', mediaType: 'image/tiff', data: 'AAAA' }] },
      ]);
      expect(body?.split('iVBORw0KGgo=')).toHaveLength(4);
      expect(body).toContain('image/tiff was left out');
    });
  });
});

/** The messages of a request as bytes, cache marks left out. */
function messagesOf(body: string): string {
  const parsed: { messages?: unknown; input?: unknown } = JSON.parse(body);
  return JSON.stringify(parsed.messages ?? parsed.input, (key, value: unknown) =>
    key === 'cache_control' ? undefined : value,
  );
}

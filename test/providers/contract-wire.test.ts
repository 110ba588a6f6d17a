import { describe, expect, test } from 'vitest';
import type { FakeModel } from '../support/fake-model.ts';
import { pause, type TestServer } from '../support/http.ts';
import { startRelay } from '../support/model-relay.ts';
import { assistant, call, connect, DIALECTS, endOf, errorOf, hear, HELLO, request, result, user } from './dialects.ts';

/** Sends the answers of a server on in pieces of the test's choosing. */
function relay(server: FakeModel, cutUp: (bytes: Buffer) => readonly Uint8Array[]): Promise<TestServer> {
  return startRelay(server, async (answer, response) => {
    for (const piece of cutUp(answer)) {
      response.write(piece);
      await pause(response, 1);
    }
    response.end();
  });
}

const TEXT = 'Grüße aus Österreich 👋🏽, schön.';
const BROKEN_ARGUMENTS = [
  '{',
  '}',
  '{"path"',
  '{"path":',
  '{"path":}',
  '{"path": "a',
  '{"path": "a"',
  '{"path": "a",}',
  '{"path": "a"}}',
  '{"path": "a"}{"path": "b"}',
  '{"path": "a"} and so on',
  "{'path': 'a'}",
  '{path: "a"}',
  '{"path": "a" "b": 1}',
  '{"path": "a\\"}',
  '{"path": "\\x41"}',
  '{"path": "a\nb"}',
  '{"path": NaN}',
  '{"path": undefined}',
  '{"path": True}',
  '{"path": 01}',
  '// a comment\n{"path": "a"}',
  '```json\n{"path": "a"}\n```',
  'path=a',
  'read_file("a")',
  '[{"path": "a"}]',
  '"{\\"path\\": \\"a\\"}"',
  'null',
  'true',
  '42',
  '\u0000',
  ' ',
];

describe.each(DIALECTS)('$name', (dialect) => {
  test.each([1, 2, 3, 7, 64])('an answer in pieces of %d bytes is read whole, its letters unhurt', async (size) => {
    await using server = await dialect.start();
    await using cut = await relay(server, (bytes) => {
      // Pieces of a few bytes around each letter of several bytes; the rest at once, because each piece costs a wait.
      const from = Math.max(0, bytes.indexOf('Gr') - 4);
      const to = Math.min(bytes.length, from + 40 * size);
      const pieces = [bytes.subarray(0, from)];
      for (let at = from; at < to; at += size) pieces.push(bytes.subarray(at, Math.min(to, at + size)));
      return [...pieces, bytes.subarray(to)];
    });
    server.reply({ text: TEXT, chunkSize: 40 });
    const heard = await hear(connect(dialect, cut), HELLO);
    expect(heard.text).toBe(TEXT);
    expect(endOf(heard).response.content).toMatchObject([{ type: 'text', text: TEXT }]);
  });

  test.each([1, 2, 3])('an answer cut %d bytes into a letter is broken', async (into) => {
    await using server = await dialect.start();
    await using cut = await relay(server, (bytes) => [bytes.subarray(0, bytes.indexOf('👋') + into)]);
    server.reply({ text: TEXT, chunkSize: 40 });
    const error = errorOf(await hear(connect(dialect, cut), HELLO));
    expect(['network', 'malformed']).toContain(error.kind);
    expect(error.retryable).toBe(true);
    expect(error.message).not.toContain('\ufffd');
  });

  test.each(BROKEN_ARGUMENTS)(
    'arguments like %j come as they are and the model sees them again in an object',
    async (broken) => {
      await using server = await dialect.start();
      server.reply({ calls: [{ id: 'c1', name: 'read_file', arguments: broken }] }, 'ok');
      const provider = connect(dialect, server);
      const { response } = endOf(await hear(provider, HELLO));
      expect(response.content).toEqual([{ type: 'tool-call', id: 'c1', name: 'read_file', arguments: broken }]);
      endOf(await hear(provider, request([user('go'), assistant(call('t.1', 'c1', broken)), result('t.1')])));
      const wire = JSON.stringify({ not_a_json_object: broken.toWellFormed() });
      const body = JSON.stringify(server.requests[1]?.body);
      const empty = broken.trim() === '' ? ['"input":{}', '"arguments":{}', '"arguments":"{}"'] : [];
      expect([wire, JSON.stringify(wire), ...empty].some((shape) => body.includes(shape))).toBe(true);
    },
  );

  test('a call of a tool that was not offered comes as it is', async () => {
    await using server = await dialect.start();
    server.reply({ calls: [{ id: 'c1', name: 'launch_rocket', arguments: {} }] });
    const { response } = endOf(await hear(connect(dialect, server), HELLO));
    expect(response.content).toMatchObject([{ type: 'tool-call', name: 'launch_rocket' }]);
  });
});

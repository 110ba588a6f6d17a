import { describe, expect, test } from 'vitest';
import type { FakeModel } from '../support/fake-model.ts';
import { pause } from '../support/http.ts';
import { startRelay } from '../support/model-relay.ts';
import { waitFor } from '../support/wait.ts';
import { connect, DIALECTS, endOf, hear, HELLO } from './dialects.ts';

/** Sends the answers of a server on, and leaves each open for a while behind its last event. */
async function lateEnds(server: FakeModel, lateMs: number) {
  const seen = { opened: 0, open: 0, ended: 0 };
  const relay = await startRelay(
    server,
    async (answer, response, path) => {
      response.on('finish', () => (seen.ended += 1));
      response.write(answer);
      if (path === '/api/show') response.end();
      else if (await pause(response, lateMs)) response.end();
    },
    (http) =>
      http.on('connection', (socket) => {
        seen.opened += 1;
        seen.open += 1;
        socket.on('close', () => (seen.open -= 1));
      }),
  );
  return { ...relay, seen };
}

describe.each(DIALECTS)('$name', (dialect) => {
  test('calls one after another take one connection, also when an answer ends a little after its last event', async () => {
    await using server = await dialect.start();
    await using relay = await lateEnds(server, 30);
    const provider = connect(dialect, relay);
    for (const text of ['one', 'two', 'three']) {
      server.reply(text);
      const { ended } = relay.seen;
      const heard = await hear(provider, HELLO);
      expect(endOf(heard).response.content).toMatchObject([{ type: 'text', text }]);
      await waitFor(() => relay.seen.ended > ended, { what: 'the end of the answer' });
      // Both ends are in this process, so that the client sees the end in this time too.
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(relay.seen.opened).toBe(1);
  });

  test('an answer is there at its last event; a server that never ends it loses the connection a second later', async () => {
    await using server = await dialect.start();
    await using relay = await lateEnds(server, 60_000);
    server.reply('one');
    const asked = performance.now();
    endOf(await hear(connect(dialect, relay), HELLO));
    expect(performance.now() - asked).toBeLessThan(30_000);
    expect(relay.seen.open).toBe(1);
    await waitFor(() => relay.seen.open === 0, { timeoutMs: 5_000, what: 'the connection to be closed' });
  });
});

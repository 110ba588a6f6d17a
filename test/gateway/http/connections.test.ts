import { once } from 'node:events';
import { createServer, request, type ClientRequest, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { capConnections } from '../../../src/core/gateway/http/connections.ts';
import { waitFor } from '../../support/wait.ts';

/** A capped server whose requests run until the test answers them. */
async function capped(): Promise<{ readonly port: number; readonly waiting: ServerResponse[] }> {
  const waiting: ServerResponse[] = [];
  const server = createServer((_request, response) => void waiting.push(response));
  capConnections(server, () => false);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0, waiting };
}

function ask(port: number): { readonly asked: ClientRequest; readonly status: Promise<number | string> } {
  const asked = request({ port, host: '127.0.0.1', agent: false, method: 'POST' });
  const status = new Promise<number | string>((resolve) => {
    asked.once('response', (response) => resolve(response.resume().statusCode ?? 0));
    asked.once('error', () => resolve('cut off'));
  });
  asked.end();
  return { asked, status };
}

test('connections that only stay open don’t cut off a request that is running', async () => {
  const { port, waiting } = await capped();
  const call = ask(port);
  await waitFor(() => waiting.length === 1);
  const idle: Socket[] = [];
  onTestFinished(() => idle.forEach((socket) => socket.destroy()));
  for (let n = 0; n < 300; n += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    idle.push(socket);
    if (n % 20 === 0) await once(socket, 'connect');
  }
  const later = ask(port);
  await waitFor(() => waiting.length === 2);
  for (const response of waiting) response.end();
  expect(await Promise.all([call.status, later.status])).toEqual([200, 200]);
});

test('a new connection is refused while a request is running on each of the others', async () => {
  const { port, waiting } = await capped();
  const calls = Array.from({ length: 256 }, () => ask(port));
  await waitFor(() => waiting.length === 256);
  expect(await ask(port).status).toBe('cut off');
  for (const response of waiting) response.end();
  expect(new Set(await Promise.all(calls.map(({ status }) => status)))).toEqual(new Set([200]));
});

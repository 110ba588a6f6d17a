import type { Server, ServerResponse } from 'node:http';
import type { FakeModel } from './fake-model.ts';
import { readBody, startServer, type TestServer } from './http.ts';

/** Stands before a model server and sends its answers on as the test wants; `url` is what an SDK takes. */
export async function startRelay(
  server: FakeModel,
  send: (answer: Buffer, response: ServerResponse, path: string) => Promise<void>,
  prepare?: (server: Server) => void,
): Promise<TestServer> {
  const { origin, pathname } = new URL(server.url);
  const relay = await startServer(
    async (incoming, response) => {
      const body = await readBody(incoming);
      const headers = Object.entries(incoming.headers).filter(
        ([name]) => !/^(?:host|connection|content-length)$/u.test(name),
      );
      const answer = await fetch(`${origin}${incoming.url}`, {
        method: 'POST',
        headers: headers.map(([name, value]): [string, string] => [name, String(value)]),
        body,
      });
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
      await send(Buffer.from(await answer.arrayBuffer()), response, incoming.url ?? '');
    },
    prepare === undefined ? {} : { prepare },
  );
  return { ...relay, url: relay.url + pathname.replace(/\/$/u, '') };
}

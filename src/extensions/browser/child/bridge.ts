import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo } from 'node:net';

/** Passes what comes to a port of 127.0.0.1 on to a unix socket, because browsers know no proxy on one. Returns the port. */
export async function startBridge(path: string): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const proxy = createConnection({ path, allowHalfOpen: true });
    client.pipe(proxy);
    proxy.pipe(client);
    for (const [one, other] of [
      [client, proxy],
      [proxy, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.once('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

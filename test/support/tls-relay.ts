import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';

/** What a client of PostgreSQL sends first: that it wants TLS. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

export interface TlsRelay extends AsyncDisposable {
  readonly port: number;
}

/** A server in between that reads all that passes: it has a certificate of its own and speaks TLS to both sides. */
export async function startTlsRelay(
  to: number,
  certified: { readonly cert: string; readonly key: string },
): Promise<TlsRelay> {
  const open = new Set<Socket>();
  const follow = (socket: Socket): Socket => {
    open.add(socket);
    return socket.on('error', () => {}).on('close', () => open.delete(socket));
  };
  const relay = async (socket: Socket): Promise<void> => {
    await once(follow(socket), 'data');
    socket.write('S');
    const client = new TLSSocket(socket, { isServer: true, ...certified });
    const raw = follow(connect(to, '127.0.0.1'));
    raw.write(TLS_REQUEST);
    await once(raw, 'data');
    const server = connectTls({ socket: raw, rejectUnauthorized: false });
    for (const one of [client, server]) one.on('error', () => {});
    client.pipe(server).pipe(client);
  };
  const listener = createServer((socket) => void relay(socket).catch(() => socket.destroy()));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

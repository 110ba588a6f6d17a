import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Connections in all, and from one address. */
const MOST = 512;
const MOST_OF_ONE = 256;

/**
 * Caps a server's open connections. Beyond the cap, the oldest idle one that has had no request with a valid login is closed
 * for a new one, so connections that only stay open can't keep out a client with the token. If there is none, the new one is
 * closed, because an answer in progress must not be cut off.
 */
export function capConnections(server: Server, isLoggedIn: (socket: Socket) => boolean): void {
  const open = new Set<Socket>();
  const running = new Set<ServerResponse>();
  server.on('request', (_request, response) => {
    running.add(response);
    response.once('close', () => running.delete(response));
  });
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const same = [...open].filter((one) => one.remoteAddress === remoteAddress);
    const crowd = same.length > MOST_OF_ONE ? same : open.size > MOST ? [...open] : [];
    if (crowd.length === 0) return;
    const busy = new Set([...running].map(({ req }) => req.socket));
    const last = crowd.find((one) => !isLoggedIn(one) && !busy.has(one)) ?? socket;
    open.delete(last);
    last.destroy();
  });
}

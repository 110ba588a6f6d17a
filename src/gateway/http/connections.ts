import type { Server, Socket } from 'node:net';

/** Connections in all, and from one address. */
const MOST = 512;
const MOST_OF_ONE = 256;

/**
 * Caps a server's open connections. Beyond the cap, the oldest one that has had no request with a valid login is closed for
 * a new one, so connections that only stay open can't keep out a client with the token.
 */
export function capConnections(server: Server, isLoggedIn: (socket: Socket) => boolean): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const same = [...open].filter((one) => one.remoteAddress === remoteAddress);
    const crowd = same.length > MOST_OF_ONE ? same : open.size > MOST ? [...open] : [];
    if (crowd.length === 0) return;
    const last = crowd.find((one) => !isLoggedIn(one)) ?? socket;
    open.delete(last);
    last.destroy();
  });
}

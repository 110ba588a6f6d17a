import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 for a child process to listen on. It lies below those that the kernel gives to connections, so
 * that none of the thousands that other tests make takes it in between.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
  }
}

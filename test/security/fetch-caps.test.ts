import { Readable } from 'node:stream';
import type { ServerResponse } from 'node:http';
import { createServer, Socket, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { brotliCompressSync, createGzip, deflateSync, gzipSync, zstdCompressSync, constants } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { FetchOptions, FetchResult } from '../../src/core/security/fetch/contract.ts';
import { startServer, untilClosed, type Handle } from '../support/http.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';
import { failureOf, fetchWorld, type FetchWorld } from './fetch-world.ts';

const A = '93.184.216.34';
const URL_OF_A = 'http://page.example.com/';

function worldAt(port: number, clock?: VirtualClock): FetchWorld {
  return fetchWorld({
    names: { 'page.example.com': [[A]] },
    servers: { [A]: port },
    ...(clock === undefined ? {} : { clock }),
  });
}

async function fetchFrom(handle: Handle, options: FetchOptions = {}): Promise<FetchResult> {
  await using server = await startServer(handle);
  return await worldAt(server.port).fetchGuarded(URL_OF_A, options);
}

/** Bytes that have arrived over the first connection. */
function received(world: FetchWorld): number {
  return world.sockets[0]?.bytesRead ?? 0;
}

/** Answers each connection with these bytes as they are, and notes when it is closed by the other side. */
async function rawServer(
  talk: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly open: () => number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.once('data', () => talk(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const packed = (encoding: string, bytes: Uint8Array): Handle => {
  return (_request, response) => void response.writeHead(200, { 'content-encoding': encoding }).end(bytes);
};

/** Writes for as long as somebody reads. */
async function flood(response: ServerResponse, chunk: Uint8Array): Promise<number> {
  let written = 0;
  const closed = untilClosed(response);
  while (!response.destroyed && written < 2_000_000_000) {
    written += chunk.length;
    if (response.write(chunk)) continue;
    const drained = new Promise<void>((resolve) => void response.once('drain', resolve));
    await Promise.race([drained, closed]);
  }
  return written;
}

describe('The size of a body', () => {
  test('is cut at the cap, exactly, and the connection closed', async () => {
    let written = 0;
    const result = await fetchFrom(
      async (_request, response) => {
        response.writeHead(200);
        written = await flood(response, Buffer.alloc(65_536, 'x'));
      },
      { maxBytes: 100_001 },
    );
    expect(result.truncated).toBe(true);
    expect(result.bytes).toHaveLength(100_001);
    await waitFor(() => written > 0, { what: 'the server to see the end' });
    expect(written).toBeLessThan(50_000_000);
  });

  test.each([0, 1, 10, 11])('at the cap itself is whole: %i bytes', async (size) => {
    const body = Buffer.alloc(size, 'x');
    const whole = await fetchFrom((_request, response) => void response.end(body), { maxBytes: size });
    expect(whole).toMatchObject({ truncated: false });
    expect(whole.bytes).toHaveLength(size);
    const over = await fetchFrom((_request, response) => void response.end(`${body.toString()}x`), { maxBytes: size });
    expect(over).toMatchObject({ truncated: true });
    expect(over.bytes).toHaveLength(size);
  });

  const hello = Buffer.from('hello '.repeat(1_000));
  test.each([
    ['gzip', gzipSync(hello)],
    ['GZIP', gzipSync(hello)],
    ['br', brotliCompressSync(hello)],
    ['identity', hello],
  ])('counts unpacked: %s', async (encoding, bytes) => {
    const whole = await fetchFrom(packed(encoding, bytes));
    expect(Buffer.from(whole.bytes).equals(hello)).toBe(true);
    expect(whole.truncated).toBe(false);
    const cut = await fetchFrom(packed(encoding, bytes), { maxBytes: 100 });
    expect(Buffer.from(cut.bytes).equals(hello.subarray(0, 100))).toBe(true);
    expect(cut.truncated).toBe(true);
  });

  const zeros = Buffer.alloc(64 * 1024 * 1024);
  test.each([
    ['gzip', () => gzipSync(zeros)],
    ['br', () => brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })],
  ])('holds against a %s bomb, with memory flat', async (encoding, make) => {
    const bomb = make();
    expect(bomb.length * 500).toBeLessThan(zeros.length);
    await using server = await startServer(packed(encoding, bomb));
    const world = worldAt(server.port);
    await world.fetchGuarded(URL_OF_A, { maxBytes: 1_000 });
    const before = process.memoryUsage();
    const results = await Promise.all(
      Array.from({ length: 4 }, () => world.fetchGuarded(URL_OF_A, { maxBytes: 1_000_000 })),
    );
    const after = process.memoryUsage();
    for (const { bytes, truncated } of results) {
      expect(truncated).toBe(true);
      expect(bytes).toHaveLength(1_000_000);
    }
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(30_000_000);
    expect(after.rss - before.rss).toBeLessThan(120_000_000);
  });

  test('holds against 10 MB of gzip that unpack to 10 GB', async () => {
    const before = process.memoryUsage().rss;
    const result = await fetchFrom(
      (_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        const endless = Readable.from(
          (function* () {
            for (let i = 0; i < 10_000; i += 1) yield zeros.subarray(0, 1_048_576);
          })(),
        );
        const gzip = createGzip({ level: 1 });
        endless.pipe(gzip).pipe(response);
        response.once('close', () => endless.destroy());
        response.once('close', () => gzip.destroy());
      },
      { maxBytes: 5_000_000 },
    );
    expect(result).toMatchObject({ truncated: true });
    expect(result.bytes).toHaveLength(5_000_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
  });

  test('compressed data that unpacks to nothing ends the fetch', async () => {
    const nothing = Buffer.concat(Array.from({ length: 20_000 }, () => Buffer.from([0, 0, 0, 0xff, 0xff])));
    const handle: Handle = async (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]));
      await flood(response, nothing);
    };
    await using server = await startServer(handle);
    const world = worldAt(server.port);
    const failure = await failureOf(world.fetchGuarded(URL_OF_A, { maxBytes: 1_000 }));
    expect(failure).toMatchObject({ kind: 'too-large' });
    expect(received(world)).toBeLessThan(4_000_000);
  });

  test.each([
    ['gzip, gzip', gzipSync(gzipSync(hello))],
    ['gzip,br', brotliCompressSync(gzipSync(hello))],
    ['compress', hello],
    ['gzip', hello],
    ['br', hello],
    ['zstd', zstdCompressSync(hello)],
    ['deflate', deflateSync(hello)],
  ])('cannot be had of what is not packed once, as was asked for: %s', async (encoding, bytes) => {
    const failure = await failureOf(fetchFrom(packed(encoding, bytes)));
    expect(failure).toMatchObject({ code: 'fetch-failed', kind: 'bad-answer' });
  });

  test('of headers is bounded, in one line, in many and over many answers', async () => {
    const floods = [
      (socket: Socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`),
      (socket: Socket) => void socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}\r\n`),
      (socket: Socket) => void socket.write(`HTTP/1.1 200 OK\r\n${'x'.repeat(100_000)}`),
    ];
    for (const talk of floods) {
      await using server = await rawServer(talk);
      const failure = await failureOf(worldAt(server.port).fetchGuarded(URL_OF_A));
      expect(failure).toMatchObject({ code: 'fetch-failed', kind: 'too-large' });
      await waitFor(() => server.open() === 0);
    }
  });
});

describe('Time', () => {
  test('ends a connection that is never made after 10 s', async () => {
    const clock = new VirtualClock();
    const begun: Socket[] = [];
    const world = fetchWorld({
      clock,
      names: { 'page.example.com': [[A, '93.184.216.35']] },
      dial() {
        begun.push(new Socket());
        return begun[0] ?? new Socket();
      },
    });
    const failure = failureOf(world.fetchGuarded(URL_OF_A));
    await waitFor(() => begun.length === 1);
    await clock.advance(9_999);
    expect(begun[0]?.destroyed).toBe(false);
    await clock.advance(1);
    expect(await failure).toMatchObject({ code: 'fetch-failed', kind: 'timeout' });
    expect(clock.waiting).toBe(0);
  });

  test('ends a resolver that does not answer after 10 s', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const resolve = (): Promise<string[]> => {
      asked += 1;
      return new Promise(() => {});
    };
    const world = fetchWorld({ clock, resolve });
    const failure = failureOf(world.fetchGuarded(URL_OF_A));
    await waitFor(() => asked === 1);
    await clock.advance(10_000);
    expect(await failure).toMatchObject({ code: 'fetch-failed', kind: 'dns' });
  });

  test('ends a server that accepts and says nothing', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    await using server = await rawServer(() => {
      asked += 1;
    });
    const failure = failureOf(worldAt(server.port, clock).fetchGuarded(URL_OF_A));
    await waitFor(() => asked === 1);
    await clock.advance(20_000);
    expect(await failure).toMatchObject({ code: 'fetch-failed', kind: 'timeout' });
    await waitFor(() => server.open() === 0);
  });

  test('ends a server that sends headers one by one, or only hints', async () => {
    for (const drip of ['x: y\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n']) {
      const clock = new VirtualClock();
      let sent = 0;
      await using server = await rawServer((socket) => {
        if (drip.startsWith('x')) socket.write('HTTP/1.1 200 OK\r\n');
        const timer = setInterval(() => {
          socket.write(drip);
          sent += 1;
        }, 5);
        socket.once('close', () => clearInterval(timer));
      });
      const failure = failureOf(worldAt(server.port, clock).fetchGuarded(URL_OF_A));
      await waitFor(() => sent > 3);
      await clock.advance(20_000);
      expect(await failure).toMatchObject({ code: 'fetch-failed', kind: 'timeout' });
      await waitFor(() => server.open() === 0);
    }
  });

  test('lets a slow but steady body come to its end', async () => {
    const clock = new VirtualClock();
    let go: (() => void) | undefined;
    await using server = await startServer(async (_request, response) => {
      response.writeHead(200, { 'content-length': 6_000 });
      for (let i = 0; i < 3; i += 1) {
        response.write('x'.repeat(2_000));
        if (i < 2) await new Promise<void>((resolve) => (go = resolve));
      }
      response.end();
    });
    const world = worldAt(server.port, clock);
    const fetching = world.fetchGuarded(URL_OF_A);
    for (let i = 0; i < 2; i += 1) {
      const next = await waitFor(() => go);
      go = undefined;
      await waitFor(() => received(world) > (i + 1) * 2_000);
      await clock.advance(9_000);
      next();
    }
    expect((await fetching).bytes).toHaveLength(6_000);
    expect(clock.waiting).toBe(0);
  });

  test('ends everything at the total deadline, however steady it comes', async () => {
    const handle: Handle = async (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'.repeat(2_000)), 5);
      await untilClosed(response);
      clearInterval(timer);
    };
    const begin = performance.now();
    const failure = await failureOf(fetchFrom(handle, { timeoutMs: 300, maxBytes: 1_000_000_000 }));
    expect(failure).toMatchObject({ code: 'fetch-failed', kind: 'too-slow' });
    expect(performance.now() - begin).toBeLessThan(5_000);
  });

  test('of redirects counts together', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    await using server = await startServer(async (_request, response) => {
      asked += 1;
      if (asked < 3) await clock.advance(15_000);
      response.writeHead(302, { location: `/${asked}` }).end();
    });
    const failure = failureOf(worldAt(server.port, clock).fetchGuarded(URL_OF_A));
    expect(await failure).toMatchObject({ code: 'fetch-failed', kind: 'timeout' });
    expect(asked).toBe(2);
  });
});

describe('An abort', () => {
  const reason = new Error('enough');

  test('before it begins asks nobody', async () => {
    const world = fetchWorld();
    await expect(world.fetchGuarded(URL_OF_A, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(world.dialed).toEqual([]);
  });

  test.each(['resolving', 'connecting', 'waiting', 'reading', 'unpacking'] as const)(
    'while %s ends the fetch',
    async (stage) => {
      const controller = new AbortController();
      const reached = Promise.withResolvers<void>();
      await using server = await rawServer((socket) => {
        if (stage === 'reading') socket.write('HTTP/1.1 200 OK\r\n\r\nx');
        if (stage === 'unpacking') {
          socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n');
          socket.write(gzipSync('x'.repeat(1_000)).subarray(0, 15));
        }
        reached.resolve();
      });
      const hangs = { resolve: () => (reached.resolve(), new Promise<string[]>(() => {})) };
      const unconnected = { dial: () => (reached.resolve(), new Socket()) };
      const world = fetchWorld({
        names: { 'page.example.com': [[A]] },
        servers: { [A]: server.port },
        ...(stage === 'resolving' ? hangs : {}),
        ...(stage === 'connecting' ? unconnected : {}),
      });
      const fetching = world.fetchGuarded(URL_OF_A, { signal: controller.signal });
      await Promise.all([
        reached.promise.then(() => setImmediate(() => controller.abort(reason))),
        expect(fetching).rejects.toBe(reason),
      ]);
      await waitFor(() => server.open() === 0);
    },
  );
});

describe('A broken answer', () => {
  test.each([
    ['is not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['has no end', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'],
    ['has a length twice', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    ['changes the protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['is empty', ''],
  ])('that %s is one', async (_name, answer) => {
    await using server = await rawServer((socket) => void socket.end(answer));
    const failure = await failureOf(worldAt(server.port).fetchGuarded(URL_OF_A));
    expect(failure).toMatchObject({ code: 'fetch-failed', kind: 'bad-answer' });
  });

  test('whose connection is refused says so', async () => {
    const world = fetchWorld({ names: { 'page.example.com': [[A, '93.184.216.35']] } });
    const failure = await failureOf(world.fetchGuarded(URL_OF_A));
    expect(failure).toMatchObject({
      code: 'fetch-failed',
      kind: 'refused',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expect(world.dialed).toHaveLength(2);
  });
});

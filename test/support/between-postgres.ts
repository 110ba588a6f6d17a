import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/** Something that stands between a program and PostgreSQL. */
export interface Between extends AsyncDisposable {
  /** The address of the database through it. */
  readonly url: string;
}

const SOCKET = '.s.PGSQL.5432';

/** Passes everything on over TCP, at an address that is not known to be of this machine; answers wait for `delayMs`. */
export async function startTcp(url: string, { delayMs = 0 }: { readonly delayMs?: number } = {}): Promise<Between> {
  const { folder, user, database } = partsOf(url);
  const server = createServer((client) => {
    const behind = connect(join(folder, SOCKET));
    tie(client, behind);
    client.on('data', (data) => void behind.write(data));
    behind.on('data', (data) => void setTimeout(() => client.writable && client.write(data), delayMs));
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `postgres://${user}@0.0.0.0:${port}/${database}`, ...closing(server) };
}

/** A pooler in transaction mode: all clients share one connection of the server, each for one transaction. */
export async function startPooler(url: string, folder: string): Promise<Between> {
  const { folder: from, user, database } = partsOf(url);
  let shared: Shared | undefined;
  const server = createServer((client) => {
    client.on('error', () => {});
    client.once('data', (startup: Buffer) => {
      shared ??= new Shared(connect(join(from, SOCKET)), startup);
      shared.take(client);
    });
  });
  await new Promise<void>((resolve) => server.listen(join(folder, SOCKET), resolve));
  const { [Symbol.asyncDispose]: close } = closing(server);
  return {
    url: `postgres://${user}@/${database}?host=${encodeURIComponent(folder)}`,
    [Symbol.asyncDispose]: async () => {
      shared?.behind.destroy();
      await close();
    },
  };
}

/** One connection of the server and the clients that take turns at it. */
class Shared {
  readonly behind: Socket;
  readonly #waiting: { readonly client: Socket; readonly data: Buffer }[] = [];
  readonly #newcomers: Socket[] = [];
  /** What the server said before it was ready for the first time: every client is told that. */
  #greeting: Buffer | undefined;
  #said = Buffer.alloc(0);
  #user: Socket | undefined;

  constructor(behind: Socket, startup: Buffer) {
    this.behind = behind;
    behind.on('error', () => {});
    behind.write(startup);
    behind.on('data', (data: Buffer) => this.#hear(data));
  }

  take(client: Socket): void {
    client.on('data', (data: Buffer) => {
      // Terminate: the connection of the server stays.
      if (data[0] === 0x58) return;
      if (this.#user === client) this.behind.write(data);
      else this.#waiting.push({ client, data });
      this.#next();
    });
    if (this.#greeting === undefined) this.#newcomers.push(client);
    else client.write(this.#greeting);
  }

  #next(): void {
    if (this.#user !== undefined || this.#greeting === undefined) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#user = next.client;
    this.behind.write(next.data);
  }

  #hear(data: Buffer): void {
    this.#said = Buffer.concat([this.#said, data]);
    for (;;) {
      const size = this.#said.length < 5 ? Infinity : this.#said.readInt32BE(1) + 1;
      if (this.#said.length < size) return;
      const message = this.#said.subarray(0, size);
      this.#said = this.#said.subarray(size);
      this.#pass(message);
    }
  }

  #heard: Buffer[] = [];

  #pass(message: Buffer): void {
    this.#heard.push(message);
    // ReadyForQuery, outside of a transaction.
    if (message[0] !== 0x5a || message[5] !== 0x49) return;
    const all = Buffer.concat(this.#heard);
    this.#heard = [];
    if (this.#greeting === undefined) {
      this.#greeting = all;
      for (const client of this.#newcomers) client.write(all);
    } else {
      this.#user?.write(all);
      this.#user = undefined;
    }
    this.#next();
  }
}

function partsOf(url: string): { readonly folder: string; readonly user: string; readonly database: string } {
  const { searchParams, username, pathname } = new URL(url.replace('@/', '@x/'));
  return { folder: searchParams.get('host') ?? '', user: username, database: pathname.slice(1) };
}

function tie(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => {});
    from.on('close', () => void to.destroy());
  }
}

function closing(server: Server): AsyncDisposable {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  return {
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { BrowserContext, BrowserType } from 'playwright-core';
import { firstLine, Pages, type PageRequest } from './pages.ts';

/**
 * The program of the child process that `Browser` starts in the sandbox: a browser and the way from it to the proxy, which
 * browsers do not find on a unix socket. Each line of JSON on standard input asks for something and is answered by one
 * line. It ends with its input. It imports nothing from outside of its folder, because nothing else is there.
 */

/** What it is started with, as JSON in its only argument. */
export interface ChildOptions {
  /** `index.mjs` of playwright-core. */
  readonly library: string;
  /** The browser's program. */
  readonly executable: string;
  /** Folder for its profile. */
  readonly profile: string;
  /** The unix socket of the proxy: the only way out. */
  readonly socket: string;
  /** The key of the proxy, see `RunningProxy`. */
  readonly keyHash: string;
}

const START_MS = 25_000;

/**
 * Bubblewrap is the sandbox: without a network there is no way around the proxy. The flags keep the browser from asking for
 * what the proxy would refuse, and from what costs much.
 */
const FLAGS: readonly string[] = [
  '--disable-domain-reliability',
  '--no-pings',
  '--disable-3d-apis',
  `--disk-cache-size=${50 * 1024 ** 2}`,
];

/** Passes what comes to a port of 127.0.0.1 on to a unix socket. Returns the port. */
async function startBridge(path: string): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const proxy = createConnection({ path, allowHalfOpen: true });
    client.pipe(proxy).pipe(client);
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

/** Chromium's own sandbox needs namespaces and a writable /proc, which there are not in bubblewrap. */
async function launch({ library, executable, profile, socket, keyHash }: ChildOptions): Promise<BrowserContext> {
  const port = await startBridge(socket);
  const { chromium } = (await import(pathToFileURL(library).href)) as { readonly chromium: BrowserType };
  return await chromium.launchPersistentContext(profile, {
    executablePath: executable,
    headless: true,
    chromiumSandbox: false,
    args: [...FLAGS, `--ignore-certificate-errors-spki-list=${keyHash}`],
    proxy: { server: `http://127.0.0.1:${port}`, bypass: '<-loopback>' },
    serviceWorkers: 'block',
    acceptDownloads: false,
    viewport: { width: 1280, height: 900 },
    timeout: START_MS,
  });
}

try {
  const context = await launch(JSON.parse(process.argv[2] ?? '{}') as ChildOptions);
  let isClosing = false;
  context.on('close', () => {
    if (!isClosing) process.exit(1);
  });
  const pages = new Pages(context, context.pages()[0] ?? (await context.newPage()));
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await pages.perform(JSON.parse(line) as PageRequest))}\n`);
  }
  // What is closed in order writes its cookies down.
  isClosing = true;
  await context.close();
  process.exit(0);
} catch (error) {
  process.stderr.write(firstLine(error), () => process.exit(1));
}

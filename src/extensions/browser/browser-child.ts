import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type { BrowserContext, BrowserType } from 'playwright-core';
import { firstLine, Pages, type PageRequest } from './pages.ts';

/**
 * The program of the child process that `Browser` starts in the sandbox: a browser and the way from it to the proxy, which
 * browsers do not find on a unix socket. Each line of JSON on standard input asks for something and is answered by one
 * line. It ends with its input. It imports nothing from outside of its folder, because nothing else is there.
 *
 * Its arguments: the folder of playwright-core, the browser's program, the unix socket of the proxy, which is the only way
 * out, and the key of the proxy (`RunningProxy`). The profile lies in the working directory.
 */
const [library = '', executable = '', socket = '', keyHash = ''] = process.argv.slice(2);

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
    pipeline(client, createConnection({ path, allowHalfOpen: true }), client, () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Chromium's own sandbox needs namespaces and a writable /proc, which there are not in bubblewrap. */
async function launch(): Promise<BrowserContext> {
  const port = await startBridge(socket);
  const { chromium } = (await import(pathToFileURL(join(library, 'index.mjs')).href)) as {
    readonly chromium: BrowserType;
  };
  return await chromium.launchPersistentContext(join(process.cwd(), 'profile'), {
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
  const context = await launch();
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

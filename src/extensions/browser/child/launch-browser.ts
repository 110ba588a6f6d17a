import { pathToFileURL } from 'node:url';
import type { BrowserContext, BrowserType } from 'playwright-core';
import type { ChildOptions } from '../protocol.ts';

const CACHE_BYTES = 50 * 1024 ** 2;
const START_MS = 25_000;

/**
 * No way around the proxy exists in here; the flags keep the browser from looking for one, and from asking for anything by
 * itself. Bubblewrap is the sandbox: the browser's own needs namespaces and a writable /proc, which there are not in it.
 */
const FLAGS: readonly string[] = [
  '--no-sandbox',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--disable-breakpad',
  '--disable-crash-reporter',
  '--dns-prefetch-disable',
  '--no-pings',
  '--no-first-run',
  '--disable-3d-apis',
  `--disk-cache-size=${CACHE_BYTES}`,
];

/** Runs in each page and frame before its own scripts. */
const WITHOUT_CALLS = `for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCDataChannel', 'WebTransport'])
  delete globalThis[name];`;

/** Starts the browser with its profile; `port`: of the bridge. */
export async function launchBrowser(options: ChildOptions, port: number): Promise<BrowserContext> {
  const { library, executable, profile, keyHash } = options;
  const { chromium } = (await import(pathToFileURL(library).href)) as { readonly chromium: BrowserType };
  const context = await chromium.launchPersistentContext(profile, {
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
  await context.addInitScript(WITHOUT_CALLS);
  return context;
}

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserPath, openBrowser } from './browser.ts';
import type { DoubleGateway } from './double/gateway.ts';
import { livedIn } from './double/life.ts';

/** A browser that is logged in at a gateway of its own. */
export interface World extends AsyncDisposable {
  readonly gateway: DoubleGateway;
  readonly page: Page;
  /** What the browser complained of: errors, exceptions, what the policy of the page blocked. */
  readonly complaints: readonly string[];
  /** Shows a place of the page, such as `#/memory`. */
  readonly show: (place: string) => Promise<void>;
  /** Another tab of the same browser. */
  readonly tab: () => Promise<Page>;
  /** Writes a message and sends it. */
  readonly write: (text: string) => Promise<void>;
}

type OpenWorld = (options?: BrowserContextOptions) => Promise<World>;

/** Tests in a real browser; where there is none they are skipped. */
export function inBrowser(title: string, tests: (open: OpenWorld) => void): void {
  const path = browserPath();
  describe.skipIf(path === undefined)(`${title}${path === undefined ? ' (no Chromium here)' : ''}`, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      browser = await openBrowser(path ?? '');
    });
    afterAll(async () => {
      await browser?.close();
    });
    tests(async (options = {}) => {
      if (browser === undefined) throw new Error('the browser is not open');
      return await openWorld(browser, options);
    });
  });
}

async function openWorld(browser: Browser, options: BrowserContextOptions): Promise<World> {
  const gateway = await livedIn();
  const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-GB', ...options });
  const complaints: string[] = [];
  context.on('console', (message) => {
    const isExpected = /ERR_INTERNET_DISCONNECTED|WebSocket connection|status of 40[19]/u.test(message.text());
    if (message.type() === 'error' && !isExpected) complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error(`policy: ${violatedDirective} ${blockedURI}`),
    );
  });
  const tab = async (): Promise<Page> => {
    const before = gateway.followers;
    const page = await context.newPage();
    await page.goto(gateway.link());
    await page.getByRole('textbox', { name: 'Write to the assistant' }).waitFor();
    await expect.poll(() => gateway.followers).toBeGreaterThan(before);
    return page;
  };
  const page = await tab();
  return {
    gateway,
    page,
    complaints,
    tab,
    show: async (place) => {
      await page.goto(`${gateway.address}/${place}`);
    },
    write: async (text) => {
      await page.getByRole('textbox', { name: 'Write to the assistant' }).fill(text);
      await page.keyboard.press('Enter');
    },
    [Symbol.asyncDispose]: async () => {
      await context.close();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const PLACES = [
  process.env['CHROMIUM_PATH'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The browser of this machine; undefined: there is none. Throws where the tests may not go without it. */
export function browserPath(): string | undefined {
  const path = PLACES.find((place) => place !== undefined && existsSync(place));
  if (path === undefined && process.env['CI'] === 'true') {
    throw new Error('the tests of the page need Chromium: install chromium-headless-shell, or set CHROMIUM_PATH');
  }
  return path;
}

/** A browser of its own, which asks nothing of anybody by itself. */
export async function openBrowser(executablePath: string): Promise<Browser> {
  return await chromium.launch({
    executablePath,
    args: [
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
  });
}

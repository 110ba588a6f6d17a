import { chromium, type Browser } from 'playwright-core';

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

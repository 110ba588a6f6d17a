import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserPath, openBrowser } from '../page/browser.ts';
import { APPROVAL, livedIn } from '../page/double/life.ts';

/** Makes the pictures of the page in `docs/images/`, or in the folder given as argument: `node test/scripts/pictures.ts` */

interface State {
  readonly name: string;
  readonly size?: { readonly width: number; readonly height: number };
  readonly dark?: true;
  readonly place?: string;
  readonly prepare: (page: Page) => Promise<unknown>;
}

const WIDE = { width: 1100, height: 760 };
const PHONE = { width: 390, height: 780 };

const STATES: readonly State[] = [
  { name: 'chat', prepare: (page) => page.getByText('Shall I write a reminder?').first().waitFor() },
  {
    name: 'tools',
    prepare: async (page) => {
      await page.getByText('edit_file customers.md').click();
      await page.getByText('exec sort').click();
    },
  },
  { name: 'approval', dark: true, prepare: (page) => page.getByRole('button', { name: 'Allow once' }).waitFor() },
  {
    name: 'conversations',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Conversations' }).click();
      await page.getByText('Three days in Ljubljana').waitFor();
    },
  },
  {
    name: 'memory',
    place: '#/memory',
    prepare: (page) => page.getByRole('button', { name: 'Compare' }).first().waitFor(),
  },
  { name: 'schedule', place: '#/schedule', prepare: (page) => page.getByText('water the plants').waitFor() },
  { name: 'usage', dark: true, place: '#/usage', prepare: (page) => page.locator('svg.plot').first().waitFor() },
  {
    name: 'phone',
    size: PHONE,
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Menu' }).click();
    },
  },
];

const path = browserPath();
if (path === undefined) throw new Error('no browser');
const folder = process.argv[2] ?? join(import.meta.dirname, '../../docs/images');
await mkdir(folder, { recursive: true });
const browser = await openBrowser(path);
try {
  for (const { name, size = WIDE, dark, place = '', prepare } of STATES) {
    await using double = await livedIn();
    if (name === 'approval') double.questions = [APPROVAL];
    const page = await browser.newPage({
      viewport: size,
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
    });
    await page.goto(double.link());
    await page.getByRole('textbox', { name: 'Write to the assistant' }).waitFor();
    if (place !== '') await page.goto(`${double.address}/${place}`);
    await prepare(page);
    await page.screenshot({ path: join(folder, `page-${name}.png`), animations: 'disabled' });
    await page.close();
  }
} finally {
  await browser.close();
}

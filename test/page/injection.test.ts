import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inBrowser, OWNER } from './world.ts';

/** Each would set `window.taken` if anything of it ran. */
const ATTACKS = [
  '<script>window.taken=1</script>',
  '<img src=x onerror="window.taken=1">',
  '<svg onload="window.taken=1"><a href="javascript:window.taken=1">x</a></svg>',
  '[click](javascript:window.taken=1)',
  '[click](data:text/html,<script>window.taken=1</script>)',
  '<javascript:window.taken=1>',
  '![picture](https://evil.example/pixel.png)',
  '![picture](data:image/svg+xml,<svg/onload=window.taken=1>)',
  '[a]: javascript:window.taken=1\n\n[a]',
  '<iframe srcdoc="<script>parent.taken=1</script>"></iframe>',
  'gnp.exe\u202Efdp.eciovni',
  '```"><img src=x onerror=window.taken=1>\ncode\n```',
];
const ALL = ATTACKS.join('\n\n');

async function isHarmless(page: Page): Promise<void> {
  // All at one moment: the page may be drawn anew between two looks.
  const links = await page
    .locator('a[href]')
    .evaluateAll((found) => found.map((link) => [link.getAttribute('href') ?? '', link.getAttribute('rel')] as const));
  for (const [href, rel] of links) {
    expect(href).toMatch(/^(?:#\/|https?:|mailto:|\/api\/)/u);
    if (/^https?:/u.test(href)) expect(rel).toBe('noopener noreferrer');
  }
  expect(await page.evaluate(() => 'taken' in window)).toBe(false);
  const foreign = 'iframe, object, embed, base, [onerror], [onload], img:not([src^="/"], [src^="blob:"])';
  expect(await page.locator(foreign).count()).toBe(0);
  expect(await page.locator('#page script, #page style').count()).toBe(0);
  const text = await page.locator('body').innerText();
  expect(text).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/u);
}

const config = { tools: { exec: { mode: 'ask', sandbox: 'off' } } };
const EVIL_NAME = '<img src=x onerror="window.taken=1">.html';

inBrowser(
  'what comes from outside does nothing on the page',
  (open) => {
    test('in an answer, while it grows and when it has ended', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply({ text: `${ALL}\n\ngrown ${'and grown '.repeat(90)}`, chunkSize: 31, eventDelayMs: 40 });
      await visit.write('Do your worst');
      await page.locator('[aria-busy]').getByText('grown').waitFor();
      await isHarmless(page);
      await page.getByRole('button', { name: 'Retry' }).waitFor();
      await expect.poll(() => page.getByRole('link', { name: 'Image: picture' }).count()).toBe(1);
      await isHarmless(page);
      expect([visit.outside, visit.complaints]).toEqual([[], []]);
    });

    test('in a message, a tool call and its result, a reasoning, a question and a file', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      await writeFile(join(assistant.workspace, 'evil.txt'), ALL);
      await mkdir(join(assistant.workspace, 'box'));
      for (const name of [EVIL_NAME, '[a](javascript:window.taken=1)', 'gnp\u202Efdp']) {
        await writeFile(join(assistant.workspace, 'box', name), ALL);
      }
      assistant.model.reply(
        {
          reasoning: ALL,
          calls: [
            { name: 'read_file', arguments: { path: 'evil.txt' } },
            { name: 'read_file', arguments: { path: ALL } },
            { name: 'list_dir', arguments: { path: 'box' } },
            { name: 'message', arguments: { text: ALL, media: [`box/${EVIL_NAME}`] } },
          ],
        },
        { calls: [{ name: 'ask_user', arguments: { question: ALL.slice(0, 900), choices: ATTACKS.slice(0, 2) } }] },
        { calls: [{ name: 'exec', arguments: { command: `echo '${ALL.replaceAll("'", '')}'` } }] },
        'The end.',
      );
      await visit.write(ALL);
      await page.getByLabel('Your answer').waitFor();
      await page.getByRole('list', { name: 'Files' }).waitFor();
      await isHarmless(page);
      await page.getByLabel('Your answer').fill(ALL);
      await page.getByRole('button', { name: 'Answer' }).click();
      await page.getByRole('button', { name: 'Do not allow' }).waitFor();
      await isHarmless(page);
      await page.getByRole('button', { name: 'Do not allow' }).click();
      await page.locator('.prose', { hasText: 'The end.' }).waitFor();
      for (const line of await page.locator('details.step').all()) await line.locator('summary').click();
      await page.locator('pre.output').first().waitFor();
      await isHarmless(page);
      expect([visit.outside, visit.complaints]).toEqual([[], []]);
    });

    test('in the names of files, skills, people, jobs, conversations and models', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      const from = { id: 815, is_bot: false, first_name: ALL.slice(0, 60) };
      assistant.telegram.userSays(815, ALL, { from });
      assistant.model.reply('Hello.');
      assistant.telegram.userSays(OWNER, ALL);
      await expect.poll(() => assistant.telegram.sentMessages.length).toBeGreaterThan(1);
      const job = { when: 'every 2h', text: ALL, kind: 'message' } as const;
      await assistant.assistant.call('cron', { action: 'add', job });
      // Also where the assistant itself would not let such a text in.
      await page.route('**/api/operations/*', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: inside(await response.json()) });
      });
      for (const place of ['', '#/skills', '#/people', '#/schedule', '#/usage', '#/health', '#/why']) {
        await visit.show(place);
        await page.reload();
        await page.getByRole('button', { name: 'Conversations' }).click();
        await page.getByText('window.taken=1').first().waitFor();
        await isHarmless(page);
        await page.keyboard.press('Escape');
      }
      expect([visit.outside, visit.complaints]).toEqual([[], []]);
    });
  },
  { config },
);

/** An answer of the assistant with the attacks in each of its texts. */
function inside(value: unknown): unknown {
  if (typeof value === 'string') return /^\d{4}-/u.test(value) ? value : `${value} ${ALL}`;
  if (Array.isArray(value)) return value.map(inside);
  if (typeof value !== 'object' || value === null) return value;
  const kept = new Set(['action', 'state', 'role', 'kind', 'unit', 'session', 'source']);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, kept.has(key) ? part : inside(part)]));
}

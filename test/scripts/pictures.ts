import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { UsageSeries } from '../../src/core/gateway/operations/usage.ts';
import { openBrowser } from '../page/browser.ts';
import { findProgram } from '../support/programs.ts';
import { OWNER, startWorld } from '../support/world.ts';

/** Makes the pictures of the page in `docs/images/`, or in the folder given as argument: `node test/scripts/pictures.ts` */

interface State {
  readonly name: string;
  readonly size?: { readonly width: number; readonly height: number };
  readonly dark?: true;
  readonly place?: string;
  readonly prepare: (page: Page) => Promise<unknown>;
}

const WIDE = { width: 1000, height: 680 };
const PHONE = { width: 390, height: 780 };
const DAY = 86_400_000;

const INVOICES = 'number,customer,amount,due,paid\n1041,Hofer,420.00,2026-10-31,no\n1044,Lind,1180.00,2026-11-15,no\n';
const CUSTOMERS = '## Lind\n\nPays by transfer.\n';
const MEMORY = `# Memory

## People
- Hofer: four weeks late with invoice 1041; likes letters, not calls.
- Lind: pays at the end of the month.

## Habits
- Works from 8 to 16; no messages after 21.
- Tables rather than long sentences.
`;
const TABLE = `Two invoices are open, **1,600.00** in all:

| Invoice | Customer | Amount | Due |
|---|---|---:|---|
| 1041 | Hofer | 420.00 | 31 October |
| 1044 | Lind | 1,180.00 | 15 November |

Hofer is four weeks late. Shall I write a reminder?`;
const LETTER = `Noted in \`customers.md\`. Here is the reminder:

\`\`\`text
Dear Ms Hofer,

our invoice 1041 of 420.00 was due on 31 October. Perhaps it
was overlooked? Please let us know if anything is unclear.
\`\`\`

I can send it on Monday at 9, if you like.`;

const STATES: readonly State[] = [
  { name: 'chat', prepare: (page) => page.getByText('I can send it').first().waitFor() },
  {
    name: 'tools',
    prepare: async (page) => {
      await page.locator('summary', { hasText: 'edit_file' }).click();
      await page.locator('summary', { hasText: 'read_file invoices' }).click();
    },
  },
  { name: 'approval', dark: true, prepare: (page) => page.getByRole('button', { name: 'Allow once' }).waitFor() },
  {
    name: 'conversations',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Conversations' }).click();
      await page.getByRole('link', { name: 'Who brings the projector?' }).waitFor();
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

const path = findProgram('Chromium');
if (path === undefined) throw new Error('There is no browser: install chromium-headless-shell, or set CHROMIUM_PATH.');
const folder = process.argv[2] ?? join(import.meta.dirname, '../../docs/images');
await mkdir(folder, { recursive: true });
await using world = await startWorld({
  config: {
    agent: { model: 'openai/scripted-model', timezone: 'Europe/Vienna', budget: { dayUsd: 5 } },
    models: { 'openai/scripted-model': { price: { input: 3, output: 15 } } },
    tools: { exec: { mode: 'ask', sandbox: 'off' } },
  },
  furnish: async (home) => {
    const put = async (name: string, text: string): Promise<void> => {
      await mkdir(join(home, 'workspace', name, '..'), { recursive: true });
      await writeFile(join(home, 'workspace', name), text);
    };
    await put('invoices.csv', INVOICES);
    await put('customers.md', CUSTOMERS);
    await put('memory/MEMORY.md', '# Memory\n');
  },
});
const browser = await openBrowser(path);
try {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Vienna', reducedMotion: 'reduce' });
  const { link } = await world.assistant.call('pageLink', {});
  const address = new URL(link).origin;
  const page = await context.newPage();
  await page.goto(link);
  await live(page);
  await page.route(`**/api/operations/usageSeries`, (route) => route.fulfill({ json: { result: exampleUsage() } }));
  for (const { name, size = WIDE, dark, place = '', prepare } of STATES) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    if (name === 'approval') await ask(page);
    await page.goto(`${address}/${place}`);
    await page.reload();
    await page.locator('.prose, main.panel .column').first().waitFor();
    await prepare(page);
    await page.screenshot({ path: join(folder, `page-${name}.png`), animations: 'disabled' });
    if (name === 'approval') await page.getByRole('button', { name: 'Do not allow' }).click();
  }
} finally {
  await browser.close();
}

/** Some conversations, jobs and a memory. */
async function live(page: Page): Promise<void> {
  const say = async (text: string, answer: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Write to the assistant' }).fill(text);
    await page.keyboard.press('Enter');
    await page.locator('article .prose', { hasText: answer }).last().waitFor();
  };
  const usage = { input: 5_200, cached: 4_100, output: 312 };
  world.model.reply(
    {
      reasoning: 'The invoices are in the workspace as CSV.',
      calls: [{ name: 'read_file', arguments: { path: 'invoices.csv' } }],
      usage,
      delayMs: 900,
    },
    { text: TABLE, usage, delayMs: 1_200 },
  );
  await say('Which invoices are still open? Put them into a table, oldest first.', 'Shall I write');
  const edit = {
    path: 'customers.md',
    oldText: 'Pays by transfer.',
    newText: 'Pays by transfer, at the end of the month.',
  };
  world.model.reply(
    { calls: [{ name: 'read_file', arguments: { path: 'customers.md' } }], usage },
    { calls: [{ name: 'edit_file', arguments: edit }], usage },
    { text: LETTER, usage, delayMs: 1_100 },
  );
  await say('Yes, a friendly one. And note that Lind pays at the end of the month.', 'I can send it');
  for (const [chat, text] of [
    [OWNER, 'Good morning'],
    [OWNER, 'Who brings the projector?'],
  ] as const) {
    world.model.reply('Good morning! Two letters need an answer.');
    const before = world.telegram.sentMessages.length;
    world.telegram.userSays(chat, text);
    while (world.telegram.sentMessages.length === before) await page.waitForTimeout(50);
  }
  for (const [when, text] of [
    ['0 8 * * 1-5', 'Read my mail and tell me what needs an answer today.'],
    ['every 3d', 'Remind me to water the plants.'],
    ['0 16 * * 5', 'Write the weekly report from the notes and show it to me.'],
  ] as const) {
    await world.assistant.call('cron', { action: 'add', job: { when, text, kind: 'agent', chat: 'telegram:42' } });
  }
  for (const text of ['# Memory\n\n- Lind pays at the end of the month.\n', MEMORY]) {
    const { hash } = await world.assistant.call('filesRead', { name: 'MEMORY.md' });
    await world.assistant.call('filesWrite', { name: 'MEMORY.md', text, hash });
  }
}

/** Asks for something that needs a yes. */
async function ask(page: Page): Promise<void> {
  const command = 'curl -sS -X POST https://mail.example.com/send --data @reminder.json';
  world.model.reply({ calls: [{ name: 'exec', arguments: { command } }] }, 'Then not.');
  await page.getByRole('textbox', { name: 'Write to the assistant' }).fill('Send it now.');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Allow once' }).waitFor();
}

/** A month of two models, which the one scripted model of this script does not have. */
function exampleUsage(): UsageSeries {
  const sums = (name: string, share: number) => ({
    name,
    calls: Math.round(18 * share),
    input: Math.round(310_000 * share),
    cached: Math.round(240_000 * share),
    output: Math.round(12_000 * share),
    costUsd: 0.42 * share,
    unpriced: 0,
  });
  const names = ['anthropic/claude-sonnet-5', 'anthropic/claude-haiku-5'];
  const days = Array.from({ length: 30 }, (_, at) =>
    names.map((name, nth) => ({
      ...sums(name, (1.2 + Math.sin(at * 1.7 + nth)) / (nth + 1)),
      day: new Date(Date.now() - at * DAY).toISOString().slice(0, 10),
    })),
  ).flat();
  return {
    since: Date.now() - 30 * DAY,
    rows: names.map((name, nth) => sums(name, 36 / (nth + 1))),
    days,
    cacheHitRate: 0.77,
    budgets: [{ name: 'agent.budget.dayUsd', unit: 'usd', limit: 5, used: 1.31, left: 3.69 }],
  };
}

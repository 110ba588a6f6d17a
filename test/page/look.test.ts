import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inBrowser, OWNER, type Visit } from './world.ts';

const PLACES = ['', '#/memory', '#/skills', '#/schedule', '#/usage', '#/people', '#/health', '#/why', '#/why/TURN'];
const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** What is serious, with the element that it is about. */
async function findingsOf(page: Page, rules: readonly string[] = []): Promise<readonly string[]> {
  // The policy of the page allows no foreign script; the protocol of the browser does.
  await page.evaluate(axe);
  const violations = await page.evaluate(async (runOnly) => {
    const { axe: run } = window as unknown as {
      axe: { run: (options: object) => Promise<{ violations: readonly Finding[] }> };
    };
    return (await run.run(runOnly.length === 0 ? {} : { runOnly })).violations;
  }, rules);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

async function isSettled(page: Page, place: string): Promise<void> {
  if (place === '') await page.locator('.prose', { hasText: 'Shall I write a reminder?' }).first().waitFor();
  else await page.locator('main.panel :is(.cards > li, textarea, svg.plot)').first().waitFor();
}

const config = { tools: { exec: { mode: 'ask', sandbox: 'off' } } };

const ANSWER =
  'Two invoices are open:\n\n| Invoice | Amount |\n|---|---:|\n| 1041 | 420.00 |\n\n```text\nDear Ms Hofer\n```\n\nShall I write a reminder?';

/** Something to see in each place, once for all tests. */
async function fill({ assistant, converse }: Visit): Promise<void> {
  const { model, telegram, assistant: port } = assistant;
  model.reply({ calls: [{ name: 'list_dir', arguments: { path: '.' } }], reasoning: 'I look first.' }, ANSWER);
  await converse('Which invoices are open?', 'Shall I write a reminder?');
  model.reply('Hello.');
  telegram.userSays(OWNER, 'Hi');
  await expect.poll(() => telegram.sentMessages.length).toBeGreaterThan(0);
  telegram.userSays(815, 'Let me in', { from: { id: 815, is_bot: false, first_name: 'Mara' } });
  const job = { when: 'every 2h', text: 'Read my mail', kind: 'message', id: 'mail' } as const;
  await port.call('cron', { action: 'add', job });
  await port.call('cron', { action: 'run', id: 'mail' });
  await expect.poll(async () => (await port.call('why', { count: 10 })).own.length).toBeGreaterThan(0);
}

inBrowser(
  'the page',
  (open) => {
    let first: Visit;
    /** A visit to the one conversation of this file. */
    const again: typeof open = async (options) => {
      const visit = await open(options);
      first ??= (await fill(visit), visit);
      await visit.page.goto(`${visit.address}/#/chat/${encodeURIComponent(first.session)}`);
      return visit;
    };
    const chatOf = (): string => `#/chat/${encodeURIComponent(first.session)}`;
    const placed = async ({ assistant }: Visit, place: string): Promise<string> => {
      if (place !== '#/why/TURN') return place === '' ? chatOf() : place;
      const turns = await assistant.assistant.call('turnsList', { count: 100 });
      return `#/why/${turns.find(({ session }) => session === first.session)?.turn}`;
    };

    test.each([
      ['light', []],
      // The rest is the same.
      ['dark', ['color-contrast']],
    ] as const)('has nothing that axe calls serious, in the %s', async (colorScheme, rules) => {
      await using visit = await again({ colorScheme });
      const { page, assistant } = visit;
      for (const place of PLACES) {
        await visit.show(await placed(visit, place));
        await isSettled(page, place);
        expect({ place, findings: await findingsOf(page, rules) }).toEqual({ place, findings: [] });
      }
      assistant.model.reply({ calls: [{ name: 'exec', arguments: { command: 'touch a' } }], text: 'I ask first.' });
      // In a conversation of its own, so that the one of this file stays as it is.
      await visit.show(`#/chat/web%3Aasks-in-the-${colorScheme}`);
      await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
      await visit.write('Do something');
      await page.getByRole('button', { name: 'Allow once' }).waitFor();
      for (const name of ['Conversations', 'Menu']) {
        await page.getByRole('button', { name }).click();
        expect({ name, findings: await findingsOf(page, rules) }).toEqual({ name, findings: [] });
        await page.keyboard.press('Escape');
      }
      assistant.model.reply('Done with it.');
      await page.getByRole('button', { name: 'Do not allow' }).click();
      await page.locator('.prose', { hasText: 'Done with it.' }).last().waitFor();
      expect(visit.complaints).toEqual([]);
    });

    test('fits on a screen of 360 pixels, in every place', async () => {
      await using visit = await again({ viewport: { width: 360, height: 700 } });
      for (const place of PLACES) {
        await visit.show(await placed(visit, place));
        await isSettled(visit.page, place);
        const size = await visit.page.evaluate(() => [
          document.documentElement.scrollWidth,
          ...[...document.querySelectorAll('main')].map((main) => main.scrollWidth),
        ]);
        expect({ place, widest: Math.max(...size) }).toEqual({ place, widest: 360 });
      }
    });

    test('follows the device in dark and light, until one of them is chosen', async () => {
      await using visit = await again({ colorScheme: 'dark' });
      const { page } = visit;
      const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(await ground()).toBe('rgb(23, 24, 22)');
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByText('Light', { exact: true }).click();
      expect(await ground()).toBe('rgb(251, 250, 248)');
      await page.reload();
      expect(await ground()).toBe('rgb(251, 250, 248)');
    });

    test('is reached and left by the keyboard alone', async () => {
      await using visit = await again();
      const { page } = visit;
      await page.locator('.prose', { hasText: 'Shall I write a reminder?' }).first().waitFor();
      await page.getByRole('button', { name: 'Menu' }).focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Memory & identity');
      await page.keyboard.press('Enter');
      await page.getByRole('textbox', { name: 'Text of MEMORY.md' }).waitFor();
      await page.goBack();
      await page.getByRole('textbox', { name: 'Write to the assistant' }).waitFor();
      await page.getByRole('button', { name: 'Conversations' }).focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Escape');
      expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Conversations');
    });

    test('says to a screen reader what is where', async () => {
      await using visit = await again();
      const { page } = visit;
      await page.locator('.prose', { hasText: 'Shall I write a reminder?' }).first().waitFor();
      expect(await page.getByRole('banner').ariaSnapshot()).toMatchInlineSnapshot(`
      "- banner:
        - button "Conversations"
        - heading "Which invoices are open?" [level=1]
        - button "Menu""
    `);
      expect(await page.getByRole('form', { name: 'Message' }).ariaSnapshot()).toMatchInlineSnapshot(`
        "- form "Message":
          - textbox "Write to the assistant"
          - button "Attach files"
          - button "Send""
      `);
      const answer = await page.getByRole('main').locator('li.entry').last().ariaSnapshot();
      expect(
        answer
          .replace(/time: .*/u, 'time: …')
          .replace(/url: "#\/why.*/u, 'url: …')
          .replace(/text: [\d.]+ s/u, 'text: … s'),
      ).toMatchInlineSnapshot(`
        "- listitem:
          - article "Assistant":
            - paragraph: "Two invoices are open:"
            - region "Table":
              - table:
                - rowgroup:
                  - row "Invoice Amount":
                    - columnheader "Invoice"
                    - columnheader "Amount"
                - rowgroup:
                  - row "1041 420.00":
                    - cell "1041"
                    - cell "420.00"
            - figure "text Copy code":
              - text: text
              - button "Copy code": Copy
              - region "Code, text":
                - code: Dear Ms Hofer
            - paragraph: Shall I write a reminder?
            - paragraph:
              - time: …
              - text: … s
              - button "Copy the answer": Copy
              - link "Why?":
                - /url: …
              - button "Retry"
              - button "Undo""
      `);
      await page.getByRole('button', { name: 'Menu' }).click();
      expect(await page.getByRole('navigation', { name: 'Menu' }).ariaSnapshot()).toMatchInlineSnapshot(`
        "- navigation "Menu":
          - list:
            - listitem:
              - link "Chat":
                - /url: "#/chat/web%3Avisit-1"
            - listitem:
              - link "Memory & identity":
                - /url: "#/memory"
            - listitem:
              - link "Skills":
                - /url: "#/skills"
            - listitem:
              - link "Schedule":
                - /url: "#/schedule"
            - listitem:
              - link "Usage":
                - /url: "#/usage"
            - listitem:
              - link "People":
                - /url: "#/people"
            - listitem:
              - link "Health":
                - /url: "#/health"
            - listitem:
              - link "Why":
                - /url: "#/why"
          - radiogroup "Appearance":
            - radio "Auto" [checked]
            - text: Auto
            - radio "Light"
            - text: Light
            - radio "Dark"
            - text: Dark
          - button "Log out""
      `);
    });
  },
  { config },
);

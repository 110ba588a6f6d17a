import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { APPROVAL } from './double/life.ts';
import { Turn } from './double/turn.ts';
import { inBrowser } from './world.ts';

const PLACES = ['', '#/memory', '#/skills', '#/schedule', '#/usage', '#/people', '#/health', '#/why'];
const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** What is serious, with the element that it is about. */
async function findingsOf(page: Page): Promise<readonly string[]> {
  // The policy of the page allows no foreign script; the protocol of the browser does.
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const { axe: run } = window as unknown as { axe: { run: () => Promise<{ violations: readonly Finding[] }> } };
    return (await run.run()).violations;
  });
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

async function isSettled(page: Page, place: string): Promise<void> {
  if (place === '') await page.getByText('Shall I write a reminder?').waitFor();
  else await page.locator('main.panel :is(.cards, textarea, svg.plot)').first().waitFor();
}

inBrowser('the page', (open) => {
  test.each(['light', 'dark'] as const)('has nothing that axe calls serious, in the %s', async (colorScheme) => {
    await using world = await open({ colorScheme });
    for (const place of PLACES) {
      await world.show(place);
      await isSettled(world.page, place);
      expect({ place, findings: await findingsOf(world.page) }).toEqual({ place, findings: [] });
    }
    await world.show('');
    world.gateway.ask([APPROVAL]);
    new Turn(world.gateway).say('An answer that grows');
    await world.page.getByText('An answer that grows').waitFor();
    for (const name of ['Conversations', 'Menu']) {
      await world.page.getByRole('button', { name }).click();
      expect({ name, findings: await findingsOf(world.page) }).toEqual({ name, findings: [] });
      await world.page.keyboard.press('Escape');
    }
    expect(world.complaints).toEqual([]);
  });

  test('fits on a screen of 360 pixels, in every place', async () => {
    await using world = await open({ viewport: { width: 360, height: 700 } });
    for (const place of PLACES) {
      await world.show(place);
      await isSettled(world.page, place);
      const size = await world.page.evaluate(() => [
        document.documentElement.scrollWidth,
        ...[...document.querySelectorAll('main')].map((main) => main.scrollWidth),
      ]);
      expect({ place, widest: Math.max(...size) }).toEqual({ place, widest: 360 });
    }
  });

  test('follows the device in dark and light, until one of them is chosen', async () => {
    await using world = await open({ colorScheme: 'dark' });
    const { page } = world;
    const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(await ground()).toBe('rgb(23, 24, 22)');
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByText('Light', { exact: true }).click();
    expect(await ground()).toBe('rgb(251, 250, 248)');
    await page.reload();
    expect(await ground()).toBe('rgb(251, 250, 248)');
  });

  test('is reached and left by the keyboard alone', async () => {
    await using world = await open();
    const { page } = world;
    await page.getByText('Shall I write a reminder?').waitFor();
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
    await using world = await open();
    const { page } = world;
    await page.getByText('Shall I write a reminder?').waitFor();
    expect(await page.getByRole('banner').ariaSnapshot()).toMatchInlineSnapshot(`
      "- banner:
        - button "Conversations"
        - heading "Open invoices and a reminder" [level=1]
        - button "Menu""
    `);
    expect(await page.getByRole('form', { name: 'Message' }).ariaSnapshot()).toMatchInlineSnapshot(`
      "- form "Message":
        - textbox "Write to the assistant"
        - button "Attach files"
        - combobox "Model":
          - option "anthropic/claude-sonnet-5" [selected]
          - option "anthropic/claude-haiku-5"
          - option "ollama/qwen4"
        - button "Send""
    `);
    const answer = await page.getByRole('main').locator('li.entry').last().ariaSnapshot();
    expect(answer.replace(/time: .*/u, 'time: …')).toMatchInlineSnapshot(`
      "- listitem:
        - article "Assistant":
          - paragraph:
            - text: Noted in
            - code: customers.md
            - text: ". Here is the reminder:"
          - figure "text Copy code":
            - text: text
            - button "Copy code": Copy
            - region "Code, text":
              - code: Dear Ms Hofer, our invoice 1041 of 420.00 was due on 31 October. Perhaps it was overlooked? Please let us know if anything is unclear.
          - paragraph: I can send it on Monday at 9, if you like.
          - paragraph:
            - time: …
            - text: 6.1 s · $0.01
            - button "Copy the answer": Copy
            - button "Retry"
            - button "Undo""
    `);
    await page.getByRole('button', { name: 'Menu' }).click();
    expect(await page.getByRole('navigation', { name: 'Menu' }).ariaSnapshot()).toMatchInlineSnapshot(`
      "- navigation "Menu":
        - list:
          - listitem:
            - link "Chat":
              - /url: "#/"
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
});

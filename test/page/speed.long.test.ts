import { loadavg } from 'node:os';
import { expect, test } from 'vitest';
import { item } from './double/life.ts';
import { Turn } from './double/turn.ts';
import { inBrowser } from './world.ts';

/** Machines that do more than one thing get this many times the budget. */
const GENEROUS = 10;

function report(what: string, ms: number): void {
  process.stdout.write(`${what}: ${Math.round(ms)} ms (load ${loadavg()[0]?.toFixed(1)})\n`);
}

inBrowser('the speed of the page', (open) => {
  test('its first paint comes within 300 ms', async () => {
    await using world = await open();
    await world.page.reload();
    await world.page.getByText('Shall I write a reminder?').waitFor();
    const paint = await world.page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity,
    );
    report('first paint', paint);
    expect(paint).toBeLessThan(300 * GENEROUS);
  });

  test('a conversation of 5,000 messages opens within 500 ms, and its beginning is reached by scrolling', async () => {
    await using world = await open();
    const { page, gateway } = world;
    const items = Array.from({ length: 5_000 }, (_, at) =>
      item((5_000 - at) * 60_000, at % 2 === 0 ? 'user' : 'assistant', `Message ${at} of **many**`, { turn: `t${at}` }),
    );
    gateway.history.set('telegram:long', items);
    const began = performance.now();
    await page.evaluate(() => (location.hash = '#/chat/telegram%3Along'));
    await page.getByText('Message 4999 of many').waitFor();
    const ms = performance.now() - began;
    report('a conversation of 5,000 messages', ms);
    expect(ms).toBeLessThan(500 * GENEROUS);
    expect(await page.locator('li.entry').count()).toBeLessThan(200);
    for (let times = 0; times < 16; times += 1) {
      const before = await page.locator('li.entry').count();
      await page.getByRole('region', { name: 'Conversation' }).evaluate((box) => (box.scrollTop = 0));
      if (before >= 600) break;
      await expect.poll(() => page.locator('li.entry').count()).toBeGreaterThan(before);
    }
    await page.getByRole('button', { name: 'Show the newest messages' }).click();
    await page.getByText('Message 4999 of many').waitFor();
    expect(await page.locator('li.entry').count()).toBeLessThan(200);
  });

  test('typing stays under 50 ms while 10,000 tokens stream', async () => {
    await using world = await open();
    const { page, gateway } = world;
    const turn = new Turn(gateway);
    const words = Array.from({ length: 10_000 }, (_, at) =>
      at % 60 === 59 ? 'end.\n\n' : at % 400 === 7 ? '`code` ' : `word${at} `,
    );
    const field = page.getByRole('textbox', { name: 'Write to the assistant' });
    await field.focus();
    await page.evaluate(() => {
      const waits: number[] = [];
      Object.assign(window, { waits });
      addEventListener(
        'keydown',
        (event) => requestAnimationFrame(() => setTimeout(() => waits.push(performance.now() - event.timeStamp))),
        true,
      );
    });
    const streaming = new AbortController();
    const typing = (async () => {
      while (!streaming.signal.aborted) await page.keyboard.type('letters ', { delay: 15 });
    })();
    for (let at = 0; at < words.length; at += 25) {
      turn.say(words.slice(0, at + 25).join(''));
      await page.waitForTimeout(8);
    }
    streaming.abort();
    await typing;
    turn.end();
    const waits = await page.evaluate(() => (window as unknown as { waits: number[] }).waits);
    const sorted = waits.toSorted((a, b) => a - b);
    report('typing, the slowest of 20 keys', sorted[Math.floor(sorted.length * 0.95)] ?? 0);
    report('typing, the middle one', sorted[Math.floor(sorted.length / 2)] ?? 0);
    expect(sorted.length).toBeGreaterThan(20);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(50 * GENEROUS);
    expect(await field.inputValue()).toContain('letters letters');
  });
});

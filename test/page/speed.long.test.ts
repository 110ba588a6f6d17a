import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { inBrowser } from './world.ts';

/** Machines that do more than one thing get this many times the budget. */
const GENEROUS = 5;
const LONG = 'telegram:4711';
const MESSAGES = 5_000;

function report(what: string, ms: number): void {
  process.stdout.write(`${what}: ${Math.round(ms)} ms (load ${loadavg()[0]?.toFixed(1)})\n`);
}

/** A tape of many short turns, a minute apart. */
function longTape(): string {
  const id = (at: number, kind: string): string => `${String(at).padStart(8, '0')}${kind}`.padStart(26, '0');
  const lines: object[] = [{ v: 1, id: id(0, 'S'), at: 0, turn: null, kind: 'session', key: LONG }];
  for (let at = 0; at < MESSAGES; at += 2) {
    const base = (kind: string): object => ({ v: 1, id: id(at, kind), at: 1e12 + at * 60_000, turn: id(at, 'T') });
    const content = (n: number): object => ({ content: [{ type: 'text', text: `Message ${n} of **many**` }] });
    const model = { provider: 'openai', model: 'scripted-model', stopReason: 'stop', usage: null };
    const usage = { input: 10, cached: 0, cacheWrite: 0, output: 5, reasoning: 0 };
    lines.push(
      { ...base('A'), kind: 'turn-start', sources: [`m${at}`], role: 'owner', origin: 'user' },
      { ...base('B'), kind: 'message', role: 'user', sources: [`m${at}`], ...content(at) },
      { ...base('C'), kind: 'message', role: 'assistant', ...content(at + 1), ...model },
      {
        ...base('D'),
        kind: 'turn-end',
        outcome: 'answered',
        answer: `Message ${at + 1} of **many**`,
        target: { channel: 'telegram', chatId: '4711' },
        usage,
        costUsd: 0,
        model: 'openai/scripted-model',
        iterations: 1,
      },
    );
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

inBrowser(
  'the speed of the page',
  (open) => {
    test('its first paint comes within 300 ms', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      assistant.model.reply('An answer to see.');
      await visit.converse('Say something', 'An answer to see.');
      const paints: number[] = [];
      for (let times = 0; times < 5; times += 1) {
        await page.reload();
        await page.locator('.prose', { hasText: 'An answer to see.' }).waitFor();
        paints.push(
          await page.evaluate(
            () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
          ),
        );
      }
      const middle = paints.toSorted((a, b) => a - b)[2] ?? Number.POSITIVE_INFINITY;
      report('first paint, the middle of five', middle);
      expect(middle).toBeLessThan(300 * GENEROUS);
    });

    test('a conversation of 5,000 messages opens within 500 ms, and its beginning is reached by scrolling', async () => {
      await using visit = await open();
      const { page } = visit;
      const began = performance.now();
      await page.evaluate((session) => (location.hash = `#/chat/${encodeURIComponent(session)}`), LONG);
      await page.getByText(`Message ${MESSAGES - 1} of many`).waitFor();
      const ms = performance.now() - began;
      report('a conversation of 5,000 messages', ms);
      expect(ms).toBeLessThan(500 * GENEROUS);
      expect(await page.locator('li.entry').count()).toBeLessThan(200);
      for (let times = 0; times < 16; times += 1) {
        const before = await page.locator('li.entry').count();
        await page.getByRole('region', { name: 'Conversation' }).evaluate((box) => (box.scrollTop = 0));
        if (before >= 600) break;
        await expect.poll(() => page.locator('li.entry').count(), { timeout: 10_000 }).toBeGreaterThan(before);
      }
      await page.getByRole('button', { name: 'Show the newest messages' }).click();
      await page.getByText(`Message ${MESSAGES - 1} of many`).waitFor();
      expect(await page.locator('li.entry').count()).toBeLessThan(200);
    });

    test('typing stays under 50 ms while 10,000 tokens stream', async () => {
      await using visit = await open();
      const { page, assistant } = visit;
      const words = Array.from({ length: 10_000 }, (_, at) =>
        at % 60 === 59 ? 'end.\n\n' : at % 400 === 7 ? '`code` ' : `word${at} `,
      );
      assistant.model.reply({ text: `${words.join('')}over`, chunkSize: 120, eventDelayMs: 8 });
      await visit.write('Tell me everything');
      await page.locator('[aria-busy] .prose').first().waitFor();
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
      const stop = page.getByRole('button', { name: 'Stop' });
      while ((await stop.count()) > 0) await page.keyboard.type('letters ', { delay: 15 });
      const waits = await page.evaluate(() => (window as unknown as { waits: number[] }).waits);
      const sorted = waits.toSorted((a, b) => a - b);
      report(`typing (${sorted.length} keys), the slowest of 20`, sorted[Math.floor(sorted.length * 0.95)] ?? 0);
      report('typing, the middle one', sorted[Math.floor(sorted.length / 2)] ?? 0);
      expect(sorted.length).toBeGreaterThan(20);
      expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(50 * GENEROUS);
      expect(await field.inputValue()).toContain('letters letters');
    });
  },
  {
    furnish: async (home) => {
      await mkdir(join(home, 'sessions'), { recursive: true, mode: 0o700 });
      await writeFile(join(home, 'sessions', tapeName(LONG)), longTape());
    },
  },
);

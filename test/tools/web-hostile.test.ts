import { describe, expect, test } from 'vitest';
import { createReader } from '../../src/core/tools/reading/reader.ts';
import { pageText, type FetchedPage } from '../../src/extensions/web/web-fetch.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { times, WORST } from './web-corpus.ts';

const NEVER = { role: 'owner', signal: new AbortController().signal } as const;
const URL_OF_PAGE = 'https://site.example/';

function html(text: string): FetchedPage {
  return { bytes: Buffer.from(text), task: { kind: 'html', charset: 'utf-8', url: URL_OF_PAGE } };
}

describe('a hostile page', () => {
  const read = createReader({ clock: systemClock });
  const readPage = (page: FetchedPage, options: Parameters<typeof pageText>[2]) => pageText(page, read, options);

  test.each(WORST)('$name: still gives its text', async ({ page, expected }) => {
    const { text } = await readPage(html(page()), NEVER);
    expect(text.slice(0, 2_000)).toMatch(expected);
    expect(text.length).toBeLessThanOrEqual(3_000_000);
  });

  test('that is not read in time is an error, and its child process is gone', async () => {
    const impatient = createReader({ clock: systemClock }, { timeoutMs: 1 });
    const page = html(times(2_000, '<p>text, and more, and more</p>'));
    await expect(pageText(page, impatient, NEVER)).rejects.toThrow('The page could not be read in 0.001 s');
    // Its place is free again.
    const answers = await Promise.all([1, 2, 3].map(() => readPage(html('<p>fine'), NEVER)));
    expect(answers.map(({ text }) => text)).toEqual(['fine', 'fine', 'fine']);
  });

  test('is left as soon as the turn is stopped, also by those who wait', async () => {
    const stop = new AbortController();
    const page = html(times(4_000, '<p>text, and more, and more</p>'));
    const reading = Promise.allSettled([1, 2, 3, 4].map(() => readPage(page, { role: 'owner', signal: stop.signal })));
    stop.abort(new Error('stopped'));
    const reasons = (await reading).map((result) => (result.status === 'rejected' ? String(result.reason) : 'read'));
    expect(reasons).toEqual(times(4, 'Error: stopped,').split(',').slice(0, 4));
  });

  test('of 2 MB costs the event loop next to nothing while its child process works', async () => {
    const paragraph = `<p>${'Lorem ipsum, dolor sit amet, consectetur. '.repeat(11)}</p>`;
    const page = html(`<article>${times(4_000, paragraph)}</article>`);
    // Processor time of this thread, milliseconds; the child process takes many hundreds.
    const costOf = async (bytes: FetchedPage): Promise<number> => {
      const before = process.threadCpuUsage();
      await readPage(bytes, NEVER);
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1_000;
    };
    // The first time the code itself is new.
    expect((await readPage(page, NEVER)).text.length).toBeGreaterThan(1_800_000);
    // To start the process costs the same for any page, and on a busy machine more. Garbage may be collected meanwhile, so
    // that the best of some counts.
    let start = Infinity;
    let whole = Infinity;
    const most = (): number => Math.max(60, 5 * start);
    for (let tries = 0; tries < 8 && !(whole - start < most()); tries += 1) {
      start = Math.min(start, await costOf(html('<p>small')));
      whole = Math.min(whole, await costOf(page));
    }
    expect(whole - start, `small page ${start} ms, whole ${whole} ms`).toBeLessThan(most());
  });
});

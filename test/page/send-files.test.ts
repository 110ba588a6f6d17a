import { SourceMap, type SourceMapPayload } from 'node:module';
import { expect, test } from 'vitest';
import { buildPage } from '../../page.config.ts';
import { watchExecuted } from '../support/executed-files.ts';
import { inBrowser } from './world.ts';

/** Files of the page and of the server that a click on “Send” may execute: they only fall. */
const FILES = 75;

inBrowser('sending a message from the page', (open) => {
  test('passes no more files than it may', async () => {
    await using visit = await open();
    const { page, address, assistant } = visit;
    const { files, maps } = await buildPage({ mapped: true });
    // The same page with maps of its sources; the hashes in its names are others.
    await page.route(`${address}/**`, async (route) => {
      const path = new URL(route.request().url()).pathname.slice(1) || 'index.html';
      const file = files.find((one) => one.path === path);
      if (file === undefined) return await route.continue();
      const response = path === 'index.html' ? await route.fetch() : undefined;
      await route.fulfill({ response, contentType: file.mediaType, body: Buffer.from(file.body) });
    });
    await page.reload();
    const write = page.getByRole('textbox', { name: 'Write to the assistant' });
    await write.waitFor();
    const said = (text: string) => page.locator('.said', { hasText: text });
    const profiler = await page.context().newCDPSession(page);
    await profiler.send('Profiler.enable');
    await profiler.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const inPage = async (): Promise<ReadonlySet<string>> => {
      const { result } = await profiler.send('Profiler.takePreciseCoverage');
      const called = result.flatMap(({ url, functions }) => {
        const path = url.startsWith(address) ? new URL(url).pathname.slice(1) : '';
        const [map, file] = [maps.get(path), files.find((one) => one.path === path)];
        if (map === undefined || file === undefined) return [];
        const sources = new SourceMap(JSON.parse(map) as SourceMapPayload);
        const lines = Buffer.from(file.body).toString().split('\n');
        return functions
          .flatMap(({ ranges: [whole] }) =>
            whole !== undefined && whole.startOffset > 0 && whole.count > 0 ? [whole] : [],
          )
          .map(({ startOffset }) => sourceAt(sources, lines, startOffset));
      });
      return new Set(called.filter((source) => source.startsWith('../src/')));
    };
    using server = watchExecuted();
    // A message that comes while a turn runs waits, so that nothing of a turn is counted.
    assistant.model.reply({ text: 'One and two and three and four.', chunkSize: 4, eventDelayMs: 3_000 }, 'Done.');
    await visit.write('Begin');
    await expect.poll(() => assistant.model.requests.length).toBe(1);
    let seen = Infinity;
    for (const text of ['first', 'second', 'third']) {
      await write.fill(text);
      await inPage();
      server.look();
      await page.keyboard.press('Enter');
      await said(text).waitFor();
      seen = Math.min(seen, (await inPage()).size + server.look().length);
    }
    expect(seen).toBeLessThanOrEqual(FILES);
  });
});

/** The source of the function that begins at this offset in its file. */
function sourceAt(map: SourceMap, lines: readonly string[], offset: number): string {
  let [line, left] = [0, offset];
  for (; line < lines.length && left > (lines[line]?.length ?? 0); line += 1) left -= (lines[line]?.length ?? 0) + 1;
  const entry = map.findEntry(line, left);
  return 'originalSource' in entry ? entry.originalSource : '';
}

import { expect, test } from 'vitest';
import type { FakeModel } from '../support/fake-model.ts';
import { inBrowserAt, type Served } from './world.ts';

/** A `KilledGateway` of test/support, whose own types are Node's. */
interface Gateway extends AsyncDisposable {
  readonly model: FakeModel;
  readonly address: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  token(): Promise<string>;
}

async function startGateway(): Promise<Served<Gateway>> {
  const support = new URL('../support/killed-gateway.ts', import.meta.url).href;
  const module: { startKilledGateway(): Promise<Gateway> } = await import(support);
  const assistant = await module.startKilledGateway();
  return { assistant, address: assistant.address, secret: { token: await assistant.token() } };
}

inBrowserAt('the page of a gateway that is killed', startGateway, (open) => {
  test('keeps what was written, says that the connection is gone, reconnects by itself to the next process, and shows the answer of the turn that was continued, once; what was typed meanwhile is sent once', async () => {
    await using visit = await open();
    const { page, assistant } = visit;
    await page.evaluate(() => Object.assign(globalThis, { isOfFirstLoad: true }));
    const answer = `It begins. ${'A sentence of the answer. '.repeat(12)}It ends.`;
    assistant.model.reply({ text: answer, chunkSize: 8, eventDelayMs: 90 });
    await visit.write('Tell me everything');
    await page.locator('[aria-busy]', { hasText: 'It begins. A sentence' }).waitFor();
    await assistant.kill();

    await page.getByText('Offline. What you write is kept here').waitFor();
    const begun = page.locator('.prose', { hasText: 'It begins. A sentence' });
    const before = await begun.innerText();
    for (const text of ['First, be brief', 'Then, be kind']) await visit.write(text);
    await page.getByText('Offline. Your message is kept here').waitFor();
    await page.getByRole('textbox', { name: 'Write to the assistant' }).fill('Half a thou');

    // The next process says nothing before the page was looked at, however long it takes to find it.
    let letGo = (): void => {};
    const looked = new Promise<void>((resolve) => (letGo = resolve));
    let asked = 0;
    assistant.model.setHandler(async () => {
      asked += 1;
      if (asked > 1) return 'Brief and kind it is.';
      await looked;
      return { text: answer, chunkSize: 40, eventDelayMs: 90 };
    });
    await assistant.start();
    await page.getByText('Offline.').waitFor({ state: 'detached' });
    expect(await begun.innerText()).toBe(before);
    // Both messages are there before the model goes on, so that one answer is to both.
    await expect.poll(() => page.getByText('Sending …').count()).toBe(0);
    letGo();
    await page.locator('.prose', { hasText: 'Brief and kind it is.' }).waitFor();
    await page.locator('[aria-busy]').waitFor({ state: 'detached' });
    const shown = (await page.locator('.entries > li').allInnerTexts()).map((text) => text.split('\n')[0]);
    expect(shown).toEqual(['Tell me everything', answer, 'First, be brief', 'Then, be kind', 'Brief and kind it is.']);
    const newest = assistant.model.requests.at(-1)?.text ?? '';
    expect(['First, be brief', 'Then, be kind'].map((text) => newest.split(text).length - 1)).toEqual([1, 1]);
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Write to the assistant' }).inputValue())
      .toBe('Half a thou');
    expect(await page.evaluate(() => Object.hasOwn(globalThis, 'isOfFirstLoad'))).toBe(true);
    expect(visit.complaints).toEqual([]);
  });
});

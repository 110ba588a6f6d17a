import { setTimeout as wait } from 'node:timers/promises';
import type { BrowserContext, FileChooser, Locator, Page } from 'playwright-core';
import type { PageReply } from './browser.ts';
import type { BrowserParams } from './spec.ts';

/** What the child is asked for: what the tool was, and what the tool needs for its files. */
export interface PageRequest extends Omit<Partial<BrowserParams>, 'action' | 'path' | 'allowSending'> {
  readonly action: Exclude<BrowserParams['action'], 'download' | 'close'> | 'cookies';
  /** For `upload`. */
  readonly file?: { readonly name: string; readonly base64: string };
}

/** Characters of a reply's parts, and how many notes it has. */
export const LIMITS = {
  url: 20_000,
  title: 2_000,
  snapshot: 300_000,
  note: 500,
  notes: 40,
  error: 1_000,
  cookies: 16_000,
} as const;

/** Longest waits, ms: for a page, for an element, for a page to come to rest. */
const PAGE_MS = 25_000;
const ELEMENT_MS = 8_000;
const REST_MS = 2_500;
/** A page is at rest when it asked for nothing for so long. */
const QUIET_MS = 400;
const LOOK_MS = 50;
const MOST_PAGES = 5;
const SCROLL_PIXELS = 700;

/** The pages of a browser; the newest is the one that is looked at. */
export class Pages {
  readonly #context: BrowserContext;
  #page: Page;
  #chooser: FileChooser | undefined;
  #inFlight = 0;
  #lastAsked = 0;
  #notes: string[] = [];

  constructor(context: BrowserContext, first: Page) {
    this.#context = context;
    this.#page = first;
    this.#watch(first);
    const asked = (change: number) => (): void => {
      this.#inFlight += change;
      this.#lastAsked = performance.now();
    };
    context.on('request', asked(1));
    context.on('requestfinished', asked(-1));
    context.on('requestfailed', asked(-1));
    context.on('page', (page) => {
      this.#note('A new tab was opened and is now looked at.');
      this.#page = page;
      this.#watch(page);
      const [oldest] = context.pages();
      if (context.pages().length > MOST_PAGES && oldest !== undefined) void oldest.close();
    });
  }

  /** Does it, and looks at the page once it is at rest. What happened beside is told once. */
  async perform(request: PageRequest): Promise<PageReply> {
    let did: Pick<PageReply, 'image' | 'cookies' | 'error'>;
    try {
      did = (await this.#act(request)) ?? {};
    } catch (error) {
      did = { error: firstLine(error) };
    }
    await this.#rest();
    const page = this.#page;
    // Pages run code that may never let go.
    const [title, snapshot] = await Promise.all([
      Promise.race([page.title(), wait(ELEMENT_MS, '')]).catch(() => ''),
      page
        .ariaSnapshot({ mode: 'ai', timeout: ELEMENT_MS })
        .catch((error: unknown) => `(no snapshot: ${String(error)})`),
    ]);
    const notes = this.#notes;
    this.#notes = [];
    return {
      url: page.url().slice(0, LIMITS.url),
      title: title.slice(0, LIMITS.title).toWellFormed(),
      snapshot: snapshot.slice(0, LIMITS.snapshot),
      notes,
      ...did,
    };
  }

  async #act(request: PageRequest): Promise<Pick<PageReply, 'image' | 'cookies'> | void> {
    const page = this.#page;
    const { action, url = '', ref, text = '', fields = [{ ref, text }], file } = request;
    const element = { timeout: ELEMENT_MS };
    const whole = { waitUntil: 'domcontentloaded', timeout: PAGE_MS } as const;
    switch (action) {
      case 'open':
        await page.goto(url, whole);
        return;
      case 'back':
        await page.goBack(whole);
        return;
      case 'snapshot':
        return;
      case 'click':
        return await this.#element(ref).click(element);
      case 'type':
        for (const field of fields) await this.#element(field.ref).fill(field.text, element);
        if (request.submit === true) await this.#element(fields.at(-1)?.ref).press('Enter', element);
        return;
      case 'select':
        await this.#element(ref).selectOption(text, element);
        return;
      case 'press':
        return ref === undefined ? await page.keyboard.press(text) : await this.#element(ref).press(text, element);
      case 'scroll':
        return await page.mouse.wheel(0, text === 'up' ? -SCROLL_PIXELS : SCROLL_PIXELS);
      case 'screenshot': {
        const image = await page.screenshot({ type: 'jpeg', quality: 70, timeout: ELEMENT_MS });
        return { image: image.toString('base64') };
      }
      case 'cookies': {
        const cookies = await this.#context.cookies(url);
        const header = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
        return { cookies: header.slice(0, LIMITS.cookies) };
      }
      case 'upload':
        return await this.#upload(ref, file ?? { name: '', base64: '' });
    }
  }

  /** Waits until nothing is asked for any more, or long enough. */
  async #rest(): Promise<void> {
    await this.#page.waitForLoadState('domcontentloaded', { timeout: REST_MS * 2 }).catch(() => {});
    const begun = performance.now();
    this.#lastAsked = Math.max(this.#lastAsked, begun);
    while (performance.now() - begun < REST_MS) {
      if (this.#inFlight <= 0 && performance.now() - this.#lastAsked >= QUIET_MS) return;
      await wait(LOOK_MS);
    }
  }

  #element(ref: string | undefined): Locator {
    if (ref === undefined) throw new Error('no element is named');
    return this.#page.getByRef(ref);
  }

  async #upload(ref: string | undefined, { name, base64 }: NonNullable<PageRequest['file']>): Promise<void> {
    const given = { name, mimeType: 'application/octet-stream', buffer: Buffer.from(base64, 'base64') };
    if (ref !== undefined) return await this.#element(ref).setInputFiles(given, { timeout: ELEMENT_MS });
    if (this.#chooser === undefined) throw new Error('the page asks for no file; name the field by its ref');
    await this.#chooser.setFiles(given, { timeout: ELEMENT_MS });
    this.#chooser = undefined;
  }

  #watch(page: Page): void {
    page.on('dialog', (dialog) => {
      this.#note(`A dialog was dismissed (${dialog.type()}): ${dialog.message()}`);
      void dialog.dismiss().catch(() => {});
    });
    page.on('download', (download) =>
      this.#note(`A download was not begun: ${download.suggestedFilename()} from ${download.url()}`),
    );
    page.on('filechooser', (chooser) => {
      this.#chooser = chooser;
      this.#note('The page asks for a file.');
    });
    page.on('crash', () => this.#note('The page crashed.'));
    page.on('close', () => {
      const left = this.#context.pages().at(-1);
      if (page === this.#page && left !== undefined) this.#page = left;
    });
  }

  #note(text: string): void {
    if (this.#notes.length < LIMITS.notes) this.#notes.push(text.slice(0, LIMITS.note).toWellFormed());
  }
}

/** The first line of what Playwright says of a failure; the rest is a log of its own. */
export function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n')[0] ?? '').slice(0, LIMITS.error);
}

import { setTimeout as wait } from 'node:timers/promises';
import type { BrowserContext, FileChooser, Locator, Page } from 'playwright-core';
import { MOST_SNAPSHOT, type ChildAction, type PageView } from '../protocol.ts';

/** Longest waits, ms: for a page, for an element, for a page to come to rest. */
const PAGE_MS = 25_000;
const ELEMENT_MS = 8_000;
const REST_MS = 2_500;
/** A page is at rest when it asked for nothing for so long. */
const QUIET_MS = 400;
const LOOK_MS = 50;
const MOST_PAGES = 5;
const MOST_NOTES = 40;
const LONGEST_NOTE = 500;
const SCROLL_PIXELS = 700;

/** What an action leads to beside the page. */
export interface ActionResult {
  /** Base64 of a JPEG. */
  readonly image?: string;
  readonly cookies?: string;
}

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
    context.on('request', () => {
      this.#inFlight += 1;
      this.#lastAsked = performance.now();
    });
    for (const event of ['requestfinished', 'requestfailed'] as const) {
      context.on(event as 'requestfinished', () => {
        this.#inFlight -= 1;
        this.#lastAsked = performance.now();
      });
    }
    context.on('page', (page) => {
      this.#note('A new tab was opened and is now looked at.');
      this.#page = page;
      this.#watch(page);
      const [oldest] = context.pages();
      if (context.pages().length > MOST_PAGES && oldest !== undefined) void oldest.close();
    });
  }

  /** Does it. Rejects with why not. */
  async perform(action: ChildAction): Promise<ActionResult> {
    const page = this.#page;
    switch (action.act) {
      case 'open':
        await page.goto(action.url, { waitUntil: 'domcontentloaded', timeout: PAGE_MS });
        return {};
      case 'snapshot':
        return {};
      case 'click':
        await this.#element(action.ref).click({ timeout: ELEMENT_MS });
        return {};
      case 'type':
        for (const { ref, text } of action.fields) await this.#element(ref).fill(text, { timeout: ELEMENT_MS });
        if (action.submit) await this.#element(action.fields.at(-1)?.ref).press('Enter', { timeout: ELEMENT_MS });
        return {};
      case 'select':
        await this.#element(action.ref).selectOption([...action.options], { timeout: ELEMENT_MS });
        return {};
      case 'press':
        if (action.ref === undefined) await page.keyboard.press(action.key);
        else await this.#element(action.ref).press(action.key, { timeout: ELEMENT_MS });
        return {};
      case 'back':
        await page.goBack({ waitUntil: 'domcontentloaded', timeout: PAGE_MS });
        return {};
      case 'scroll':
        await page.mouse.wheel(0, action.up ? -SCROLL_PIXELS : SCROLL_PIXELS);
        return {};
      case 'screenshot': {
        const image = await page.screenshot({ type: 'jpeg', quality: 70, timeout: ELEMENT_MS });
        return { image: image.toString('base64') };
      }
      case 'cookies': {
        const cookies = await this.#context.cookies(action.url);
        return { cookies: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') };
      }
      case 'upload':
        await this.#upload(action);
        return {};
    }
  }

  /** The page once it is at rest, or as it is then. What happened beside is told once. */
  async view(): Promise<PageView> {
    await this.#rest();
    const page = this.#page;
    const [title, snapshot] = await Promise.all([
      withLimit(page.title(), ELEMENT_MS).catch(() => ''),
      page
        .ariaSnapshot({ mode: 'ai', timeout: ELEMENT_MS })
        .catch((error: unknown) => `(no snapshot: ${String(error)})`),
    ]);
    const notes = this.#notes;
    this.#notes = [];
    return {
      url: page.url().slice(0, 20_000),
      title: title.slice(0, 2_000).toWellFormed(),
      snapshot: snapshot.slice(0, MOST_SNAPSHOT),
      notes,
    };
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

  async #upload({ ref, file }: Extract<ChildAction, { act: 'upload' }>): Promise<void> {
    const given = { name: file.name, mimeType: 'application/octet-stream', buffer: Buffer.from(file.base64, 'base64') };
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
    if (this.#notes.length < MOST_NOTES) this.#notes.push(text.slice(0, LONGEST_NOTE).toWellFormed());
  }
}

/** Pages run code that may never let go. */
function withLimit<T>(work: Promise<T>, ms: number): Promise<T> {
  const limit = AbortSignal.timeout(ms);
  return Promise.race([
    work,
    new Promise<never>((_resolve, reject) => limit.addEventListener('abort', () => reject(new Error('too late')))),
  ]);
}

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import type { RequestName, RequestParams, RequestResult } from '../../src/core/gateway/operations/operations.ts';
import type { FakeModel } from '../support/fake-model.ts';
import type { FakeTelegram } from '../support/fake-telegram.ts';
import { findProgram } from '../support/programs.ts';
import { describeWith } from '../support/test-with.ts';
import { openBrowser } from './browser.ts';

/** A `World` of test/support. Its own types are Node's, some of which those of a browser contradict. */
export interface Home extends AsyncDisposable {
  readonly home: string;
  readonly workspace: string;
  readonly model: FakeModel;
  readonly telegram: FakeTelegram;
  readonly assistant: {
    call<Name extends RequestName>(name: Name, params: RequestParams<Name>): Promise<RequestResult<Name>>;
  };
}

export interface HomeOptions {
  /** Settings over the world's own. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Fills the home before the start. */
  readonly furnish?: (home: string) => Promise<void>;
  readonly hooks?: readonly {
    readonly owner: string;
    readonly hooks: { session(draft: { readonly channel: string; readonly chatId: string }): string | undefined };
  }[];
}

/** The person who is the owner on Telegram. */
export const OWNER = 42;

/** Where the page is served, and what logs in there once. */
export interface Served<Assistant> {
  readonly assistant: Assistant;
  readonly address: string;
  readonly secret: { readonly code: string } | { readonly token: string };
}

/** Starts a whole assistant with a model server of its own. */
export async function startHome(options: HomeOptions): Promise<Served<Home>> {
  const world = new URL('../support/world.ts', import.meta.url).href;
  const module: { startWorld(options: HomeOptions): Promise<Home> } = await import(world);
  const assistant = await module.startWorld(options);
  const { link } = await assistant.assistant.call('pageLink', {});
  const [address = '', code = ''] = link.split('/#login=');
  return { assistant, address, secret: { code } };
}

/** A browser that is logged in at the assistant of its file, in a conversation of its own. */
export interface Visit<Assistant = Home> extends AsyncDisposable {
  readonly assistant: Assistant;
  readonly address: string;
  readonly page: Page;
  /** The name of the conversation, and the key of its session. */
  readonly chat: string;
  readonly session: string;
  /** What the browser complained of: errors, exceptions, what the policy of the page blocked. */
  readonly complaints: readonly string[];
  /** What was asked of any other server. */
  readonly outside: readonly string[];
  /** Shows a place of the page, such as `#/memory`. */
  readonly show: (place: string) => Promise<void>;
  /** Another tab of the same browser, in the same conversation. */
  readonly tab: () => Promise<Page>;
  /** Writes a message and sends it. */
  readonly write: (text: string) => Promise<void>;
  /** Writes a message and waits until the answer with this text has ended. */
  readonly converse: (text: string, answer: string) => Promise<void>;
}

type OpenVisit<Assistant> = (options?: BrowserContextOptions) => Promise<Visit<Assistant>>;

/** Tests in a real browser at one real assistant; where there is no browser they are skipped. */
export function inBrowser(title: string, tests: (open: OpenVisit<Home>) => void, options: HomeOptions = {}): void {
  inBrowserAt(title, () => startHome(options), tests);
}

/** The same at an assistant that is started in another way. */
export function inBrowserAt<Assistant extends AsyncDisposable>(
  title: string,
  start: () => Promise<Served<Assistant>>,
  tests: (open: OpenVisit<Assistant>) => void,
): void {
  describeWith('Chromium')(title, () => {
    const stack = new AsyncDisposableStack();
    let place: Place<Assistant> | undefined;
    let visits = 0;
    beforeAll(async () => {
      const served = await start();
      stack.use(served.assistant);
      const browser = stack.adopt(await openBrowser(findProgram('Chromium') ?? ''), (opened) => opened.close());
      place = { browser, ...served, cookie: await logIn(served) };
    });
    afterAll(() => stack.disposeAsync());
    tests(async (context = {}) => {
      if (place === undefined) throw new Error('the browser is not open');
      visits += 1;
      return await visit(place, `visit-${visits}`, context);
    });
  });
}

/** What the tests of a file share. */
interface Place<Assistant> {
  readonly browser: Browser;
  readonly assistant: Assistant;
  readonly address: string;
  readonly cookie: Cookie;
}

/** Of a login, so that not each visit needs one. */
interface Cookie {
  readonly name: string;
  readonly value: string;
  /** The half of the login that lies in the storage of the page. */
  readonly key: string;
}

async function logIn({ address, secret }: Omit<Served<unknown>, 'assistant'>): Promise<Cookie> {
  const headers = { 'Content-Type': 'application/json', Origin: address };
  const { headers: answered } = await fetch(`${address}/login`, {
    method: 'POST',
    headers,
    body: JSON.stringify(secret),
  });
  const [name = '', value = ''] = answered.get('set-cookie')?.split(';')[0]?.split('=') ?? [];
  return { name, value, key: answered.get('x-assistant-login') ?? '' };
}

/** Says who is asked for a login, that the network is off, and that the assistant is gone. */
const EXPECTED =
  /ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|WebSocket connection|status of 40[19]/u;

async function visit<Assistant>(
  { browser, assistant, address, cookie: { key, ...cookie } }: Place<Assistant>,
  chat: string,
  options: BrowserContextOptions,
): Promise<Visit<Assistant>> {
  const [complaints, outside]: [string[], string[]] = [[], []];
  const context = await browser.newContext({
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Vienna',
    ...options,
  });
  context.setDefaultTimeout(20_000);
  await context.addCookies([{ ...cookie, url: address, httpOnly: true, sameSite: 'Strict' }]);
  context.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  context.on('request', (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith('blob:')) outside.push(request.url());
  });
  await context.addInitScript(
    ({ half, origin }) => {
      if (location.origin === origin) localStorage.setItem('assistant-login', half);
    },
    { half: key, origin: address },
  );
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error(`policy: ${violatedDirective} ${blockedURI}`),
    );
  });
  const session = `web:${chat}`;
  const field = (page: Page) => page.getByRole('textbox', { name: 'Write to the assistant' });
  const tab = async (): Promise<Page> => {
    const page = await context.newPage();
    const followed = page.waitForEvent('websocket').then((socket) => socket.waitForEvent('framereceived'));
    await page.goto(`${address}/#/chat/${encodeURIComponent(session)}`);
    await Promise.all([field(page).waitFor(), followed]);
    return page;
  };
  const page = await tab();
  const write = async (text: string): Promise<void> => {
    await field(page).fill(text);
    await page.keyboard.press('Enter');
  };
  return {
    assistant,
    address,
    page,
    chat,
    session,
    complaints,
    outside,
    tab,
    show: async (place) => {
      await page.goto(`${address}/${place}`);
    },
    write,
    converse: async (text, answer) => {
      await write(text);
      await page.getByRole('article', { name: 'Assistant' }).filter({ hasText: answer }).waitFor();
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

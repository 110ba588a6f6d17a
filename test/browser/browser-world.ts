import '../support/internet-mock.ts';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { putLibrary } from '../support/browser-library.ts';
import { readBody, startServer } from '../support/http.ts';
import { publishHost } from '../support/internet.ts';
import type { Step } from '../support/model-script.ts';
import { findProgram } from '../support/programs.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World, type WorldOptions } from '../support/world.ts';

export const executable = findProgram('Chromium');

/** What the tool browser needs, for `testWith` and `describeWith`. */
export const NEEDED = ['bubblewrap', 'Chromium'] as const;

export interface Asked {
  readonly method: string | undefined;
  readonly host: string | undefined;
  readonly path: string | undefined;
  readonly body: string;
}

export interface Page {
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  readonly body: string;
}

/** An assistant with a browser, and a site under public names whose pages are set by path. */
export interface BrowserWorld extends AsyncDisposable {
  readonly world: World;
  readonly pages: Map<string, string | Page>;
  /** All that reached the site, in order, but for icons. */
  readonly asked: Asked[];
}

export async function browserWorld(
  options: WorldOptions & { readonly names?: readonly string[]; readonly browser?: object } = {},
): Promise<BrowserWorld> {
  await using stack = new AsyncDisposableStack();
  const pages: BrowserWorld['pages'] = new Map();
  const asked: Asked[] = [];
  const site = stack.use(
    await startServer(async (request: IncomingMessage, response) => {
      const { method, url: path, headers } = request;
      const body = await readBody(request);
      if (path === '/favicon.ico') return void response.writeHead(404).end();
      asked.push({ method, host: headers.host, path, body });
      const found = pages.get(path ?? '') ?? pages.get(`${headers.host}${path}`) ?? { status: 404, body: 'nothing' };
      const page: Page = typeof found === 'string' ? { body: found } : found;
      response.writeHead(page.status ?? 200, {
        'content-type': page.type ?? 'text/html; charset=utf-8',
        ...page.headers,
      });
      response.end(page.body);
    }),
  );
  for (const name of options.names ?? ['site.example.com']) stack.use(publishHost(name, site.port));
  const tools = {
    browser: { enabled: true, executable, ...options.browser },
    ...(options.config?.['tools'] as object),
  };
  const world = stack.use(await startWorld({ ...options, config: { ...options.config, tools }, furnish: putLibrary }));
  const owned = stack.move();
  return { world, pages, asked, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Says it and waits for what the model of `play` says last, or for the answer to a command. */
export async function say(world: World, text: string): Promise<void> {
  const word = text === '/new' ? 'I started a new conversation' : 'Done.';
  const count = (): number => chatOf(world).filter((said) => said.startsWith(word)).length;
  const before = count();
  world.telegram.userSays(OWNER, text);
  await waitFor(() => count() > before, { what: `a reply to ${text}` });
}

/** Results of the tool, as the model read them, in order. */
export function results(world: World): readonly string[] {
  return world.model.requests.flatMap(({ view }) => view.toolResults.slice(-1)).map(({ text }) => text);
}

/** One step of a model; a function is told the last result. */
type Play = Step | ((last: string) => Step);

/** Has the model do this in the next turn, one step for each request, and say `Done.` at the end. */
export function play({ model }: World, ...steps: readonly Play[]): void {
  const left = [...steps];
  model.setHandler(({ view }) => {
    const next = left.shift();
    if (next === undefined) return 'Done.';
    return typeof next === 'function' ? next(view.toolResults.at(-1)?.text ?? '') : next;
  });
}

/** One call of the tool. */
export function call(args: Readonly<Record<string, unknown>>): Step {
  return { calls: [{ name: 'browser', arguments: args }] };
}

/** The ref of the first element of the newest page whose line has this text. */
export function refOf(page: string, text: string): string {
  const line = page.split('\n').findLast((one) => one.includes(text) && one.includes('[ref=')) ?? '';
  return /\[ref=(?<ref>\w+)\]/u.exec(line)?.groups?.['ref'] ?? `none-of-${text}`;
}

/** The question number `nth` in the owner's chat, once it waits for its answer. */
export async function question(world: World, nth = 0): Promise<string> {
  const found = await waitFor(() => questions(world)[nth], { what: `question ${nth + 1}` });
  await waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, { what: 'all is sent' });
  return found;
}

/** All questions so far, answered or not. */
export function questions(world: World): readonly string[] {
  return chatOf(world).filter(
    (text) => text.includes('/approve ') || /(?:llowed by [^\n]+|Cancelled|Expired[^\n]*)\.$/u.test(text),
  );
}

/** Answers a question as its text says. */
export function answer(world: World, asked: string, word: 'approve' | 'deny'): void {
  const code = /\/approve (?<code>\w+)/u.exec(asked)?.groups?.['code'] ?? '';
  world.telegram.userSays(OWNER, `/${word} ${code}`);
}

/** Says it, and answers the questions of the turn one after the other; resolves with them at its end. */
export async function sayAndAnswer(
  world: World,
  text: string,
  answers: readonly ('approve' | 'deny')[],
): Promise<readonly string[]> {
  const before = questions(world).length;
  const isDone = (): number => chatOf(world).filter((said) => said === 'Done.').length;
  const done = isDone();
  world.telegram.userSays(OWNER, text);
  const asked: string[] = [];
  for (const word of answers) {
    const one = await question(world, before + asked.length);
    asked.push(one);
    answer(world, one, word);
  }
  await waitFor(() => isDone() > done, { what: `the end of ${text}` });
  return asked;
}

/** Process ids of all browsers of a home. */
export function browserProcesses(home: string): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/u.test(name)) return [];
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(`${home}/browser/sessions/`)
        ? [Number(name)]
        : [];
    } catch {
      return [];
    }
  });
}

/** The profile folders of a home. */
export function profiles(home: string): readonly string[] {
  const folder = join(home, 'browser', 'sessions');
  return existsSync(folder) ? readdirSync(folder) : [];
}

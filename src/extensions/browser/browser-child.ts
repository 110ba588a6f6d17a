import { createInterface } from 'node:readline';
import { startBridge } from './child/bridge.ts';
import { launchBrowser } from './child/launch-browser.ts';
import { Pages, type ActionResult } from './child/pages.ts';
import type { ChildOptions, ChildRequest, PageView } from './protocol.ts';

/**
 * The program of the child process that `startChild` starts in the sandbox: a browser, and what it is asked for, one line
 * of JSON each on standard input; each gets one line as its answer. It ends with its input. It imports nothing from outside
 * of its folder, because nothing else is there.
 */

const options = JSON.parse(process.argv[2] ?? '{}') as ChildOptions;

function say(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** The first line of what Playwright says of a failure; the rest is a log of its own. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n')[0] ?? '').slice(0, 1_000);
}

async function answer(pages: Pages, { id, ...action }: ChildRequest): Promise<void> {
  let result: ActionResult = {};
  let error: string | undefined;
  try {
    result = await pages.perform(action);
  } catch (thrown) {
    error = reasonOf(thrown);
  }
  const view: PageView | undefined = await pages.view().catch(() => undefined);
  if (error === undefined && view !== undefined) say({ id, view, ...result });
  else say({ id, error: error ?? 'the page does not answer', ...(view === undefined ? {} : { view }) });
}

try {
  const port = await startBridge(options.socket);
  const context = await launchBrowser(options, port);
  let isClosing = false;
  context.on('close', () => {
    if (!isClosing) process.exit(1);
  });
  const pages = new Pages(context, context.pages()[0] ?? (await context.newPage()));
  say({ id: 0, view: { url: 'about:blank', title: '', snapshot: '', notes: [] } });
  for await (const line of createInterface({ input: process.stdin })) {
    await answer(pages, JSON.parse(line) as ChildRequest);
  }
  // What is closed in order writes its cookies down.
  isClosing = true;
  await context.close();
  process.exit(0);
} catch (error) {
  say({ id: 0, error: reasonOf(error) });
  process.exit(1);
}

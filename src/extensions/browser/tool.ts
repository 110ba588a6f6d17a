import {
  choiceAction,
  type DeclaredAction,
  defineTool,
  escapeControlChars,
  fetchAction,
  imageType,
  PAGE_MARGIN,
  type Planned,
  type Tool,
  type ToolContext,
  type ToolResult,
  urlOrigin,
  withScheme,
} from '../../core/api-tools.ts';
import { type App, cut } from '../../core/api.ts';
import type { Acted } from './browser.ts';
import type { Browsers } from './browsers.ts';
import { download, downloadPath, downloadQuestion, uploadedFile, uploadQuestion } from './files.ts';
import { DESCRIPTION, missing, parameters, type BrowserParams } from './spec.ts';

type Action = BrowserParams['action'];
interface Services {
  readonly app: App;
  readonly browsers: Browsers;
}

/** What is chosen on a page, as its answer can tell which of many it was. */
const CHOICES: ReadonlySet<Action> = new Set(['click', 'select', 'press', 'back', 'scroll']);
/** What a page may send something after: the owner is then asked. */
const ACTS: ReadonlySet<Action> = new Set(['click', 'type', 'select', 'press', 'upload']);
const LONGEST_SHOWN = 2_000;
/** Characters for what stands beside the page. */
const MARGIN = 1_500;
const REFUSED = 'Not everything that the page wanted was let through; what was not is listed under "refused".';

/**
 * The tool `browser`: pages in a browser of the session's own, in a sandbox, behind the guarded proxy. Its results are
 * untrusted. What is typed is asked about like an address that the model composed; what pages send, downloads and uploads
 * are always asked about.
 */
export function browserTool(app: App, browsers: Browsers): Tool {
  const { fetch } = app;
  return defineTool({
    name: 'browser',
    description: DESCRIPTION,
    parameters,
    effect: 'effect',
    role: 'owner',
    // It waits for people in the middle of a call, and has deadlines of its own.
    waits: true,
    untrusted: true,
    source: 'a web page',
    fetches: true,
    about: ({ action, url, path }) =>
      action === 'download' ? [{ kind: 'file', target: downloadPath(url, path) }] : [],
    plan: async (params, context): Promise<Planned> => {
      const { action, path } = params;
      const { sessionKey } = context.call;
      const problem = missing(params);
      if (problem !== null) return { denied: problem };
      const url = withScheme(params.url ?? '');
      const run = (signal: AbortSignal): Promise<ToolResult> =>
        perform({ ...params, url }, { ...context, signal }, { app, browsers });
      if (action === 'open' || action === 'download') {
        const checked = await fetch.checkUrl(url);
        if (checked.decision === 'deny') return { denied: checked.reason };
        const opens = await fetchAction(url, { fetch, conversation: context.conversation });
        const reaches = { ...opens, title: 'Open a web page', joins: undefined };
        const isComposed = urlOrigin(url, context.conversation.said()) === 'composed';
        if (action === 'open') return { run, reaches, echoes: browsers.wasTold(sessionKey, isComposed) };
        const asks = await downloadQuestion(checked.url, downloadPath(url, path), { app, context });
        return { run, asks, reaches };
      }
      const page = browsers.get(sessionKey)?.view.url ?? 'about:blank';
      if (action === 'upload') return { run, ...(await uploadQuestion(path ?? '', page, { app, context })) };
      const reaches = await inputAction(params, context, { app, browsers });
      return { run, covers: { page }, reaches, echoes: browsers.wasTold(sessionKey, action === 'type') };
    },
  });
}

/** `url` has a scheme. */
async function perform(
  { action, path, allowSending = false, ...params }: BrowserParams & { readonly url: string },
  context: ToolContext,
  { app, browsers }: Services,
): Promise<ToolResult> {
  const { url } = params;
  const { sessionKey } = context.call;
  const { signal } = context;
  if (action === 'close') {
    await browsers.close(sessionKey);
    const output = 'The browser is closed. Its logins are kept for this conversation.';
    return { title: 'closed the browser', output, metadata: {} };
  }
  if (action === 'download') return await download(url, downloadPath(url, path), { app, browsers, context });
  context.people.progress(`browser: ${action}`);
  return await browsers.use(sessionKey, { starts: action === 'open', signal }, async (browser) => {
    if (action === 'upload') browsers.wasTold(sessionKey, true);
    const file = action === 'upload' ? await uploadedFile(path ?? '', { app, context }) : undefined;
    const acted = await browser.act({ ...params, action, file }, context, ACTS.has(action) || allowSending);
    const site = URL.canParse(acted.url) ? new URL(acted.url).host : acted.url;
    const did = action === 'open' ? `opened ${site}` : `${action} on ${site}`;
    return { ...(await pageResult(did, acted, { app, context })), private: browser.isPersonal };
  });
}

/** What typing or choosing would carry to the site; undefined: nothing. */
async function inputAction(
  params: BrowserParams,
  { call, conversation }: ToolContext,
  { app, browsers }: Services,
): Promise<DeclaredAction | undefined> {
  const { action, ref = '', text = '', fields } = params;
  const view = browsers.get(call.sessionKey)?.view;
  if (view === undefined) return undefined;
  const isType = action === 'type';
  if (!isType && !CHOICES.has(action)) return undefined;
  const checked = await app.fetch.checkUrl(view.url);
  const hostAllowed = checked.decision === 'allow' && checked.opened;
  const { host } = URL.canParse(view.url) ? new URL(view.url) : { host: view.url };
  const given = isType ? (fields ?? [{ ref, text }]) : [{ ref, text: `${action} ${text}`.trim() }];
  const shown = given.map((one) => `${elementLine(view.snapshot, one.ref)}: ${one.text}`);
  return {
    action: isType
      ? { kind: 'page-input', hostAllowed }
      : await choiceAction(view.url, { fetch: app.fetch, conversation }),
    title: isType ? `Type into a page of ${host}` : `Go on using the pages of ${host}`,
    detail: [cut(view.url, LONGEST_SHOWN), ...shown].map(escapeControlChars).join('\n'),
  };
}

/** An element as the newest snapshot calls it, for people. */
function elementLine(snapshot: string, ref: string): string {
  const line = snapshot.split('\n').find((one) => one.includes(`[ref=${ref}]`)) ?? '';
  const words = line.replace(/\s*\[ref=.*$/u, '').replace(/^\s*-\s*/u, '');
  return words === '' ? 'the page' : cut(words, 200);
}

/** What the model reads of a page: the tree first, then what happened beside it. */
async function pageResult(
  did: string,
  { url, title, snapshot, notes, error, refusals, image }: Acted,
  { app, context }: { readonly app: App; readonly context: ToolContext },
): Promise<ToolResult> {
  const listed = refusals.length === 0 ? [] : ['refused:', ...refusals.map((sentence) => `- ${sentence}`)];
  const beside = [...notes.map((note) => `- ${note}`), ...listed].join('\n');
  const page = await pageText(snapshot, app, context);
  const output = [error === undefined ? '' : `It failed: ${error}`, page.text, cut(beside, MARGIN)];
  // What came out of the sandbox may be no picture.
  const picture = Buffer.from(image ?? '', 'base64');
  const mediaType = imageType(picture);
  const path = mediaType === undefined ? '' : await app.files.keepImage(picture);
  const size = picture.length;
  return {
    title: did,
    output: output.filter((part) => part !== '').join('\n\n'),
    metadata: { url, title, ...(page.left > 0 ? { truncated: true, left: page.left } : {}) },
    note: refusals.length === 0 ? undefined : REFUSED,
    isError: error !== undefined,
    media: mediaType === undefined ? [] : [{ kind: 'image', mediaType, path, name: 'screenshot.jpg', size }],
  };
}

async function pageText(
  snapshot: string,
  { config, spill }: App,
  { call }: ToolContext,
): Promise<{ readonly text: string; readonly left: number }> {
  const most = config.agent.toolResultChars - PAGE_MARGIN - MARGIN;
  if (snapshot.length <= most) return { text: snapshot, left: 0 };
  const begun = cut(snapshot, most);
  const lineEnd = begun.lastIndexOf('\n');
  const text = lineEnd > 0 ? begun.slice(0, lineEnd) : begun;
  const left = snapshot.length - text.length;
  const kept = await spill.put(call.sessionKey, call.id, snapshot).catch(() => undefined);
  const where = kept === undefined ? '' : `; the whole is in a file that read_file shows in pages: ${kept}`;
  return { text: `${text}\n\n(${left} more characters of this page${where})`, left };
}
